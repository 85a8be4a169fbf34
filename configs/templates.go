package configs

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"slackrelay/events"
	"slackrelay/pipeline"
	"slackrelay/ratelimit"
)

// The defaults of the settings of templates. Other channels do not have these settings.
const (
	defaultValues      = "[a-z0-9-]{1,40}"
	defaultMaxChannels = 200
	defaultForgetAfter = 7 * 24 * time.Hour
)

// maxValues is the length that the pattern of values may have, in bytes.
const maxValues = 1000

// isTemplate reports whether the entry is a template of channels.
func (c Channel) isTemplate() bool { return strings.Contains(c.Name, "{{") }

// isChannelName reports whether a text is the name of a channel or of a template.
func isChannelName(text string) bool {
	if channelName.MatchString(text) {
		return true
	}
	pattern, ok := pipeline.ParsePattern(text)
	return ok && channelName.MatchString(pattern.With("a"))
}

// instance returns the settings of the channel that a template makes for a value.
func (c Channel) instance(value string) Channel {
	for _, text := range []*string{&c.Name, &c.SlackChannel, &c.FallbackSlackChannel} {
		if pattern, ok := pipeline.ParsePattern(*text); ok {
			*text = pattern.With(value)
		}
	}
	return c
}

// compiledValues returns the pattern that a whole value must match.
func (c Channel) compiledValues() (*regexp.Regexp, error) {
	values := cmp.Or(c.Values, defaultValues)
	if len(values) > maxValues {
		return nil, errors.New("is longer than 1000 bytes; use a shorter one")
	}
	if _, err := regexp.Compile(values); err != nil { // alone, so that no part of it closes the group
		return nil, err //nolint:wrapcheck // the caller adds the setting
	}
	return regexp.Compile("^(?:" + values + ")$") //nolint:wrapcheck // as above
}

// forgetAfter is how long the channels of a template are kept after their last event.
func (c Channel) forgetAfter() time.Duration { return cmp.Or(c.ForgetAfter, defaultForgetAfter) }

// template returns a template for the pipeline, without Make; ok is false if its name or its values are not valid.
func (c Channel) template() (t pipeline.Template, ok bool) {
	pattern, ok := pipeline.ParsePattern(c.Name)
	values, err := c.compiledValues()
	return pipeline.Template{
		Pattern: pattern, Values: values, Most: cmp.Or(c.MaxChannels, defaultMaxChannels), Fallback: c.Fallback, ForgetAfter: c.forgetAfter(),
	}, ok && err == nil
}

// PipelineTemplates returns the templates for the pipeline. senders makes the destinations of their channels.
func (c *Config) PipelineTemplates(senders *Senders) []pipeline.Template {
	var templates []pipeline.Template
	var common *commonParts
	for _, ch := range c.Channels {
		t, ok := ch.template()
		if !ch.isTemplate() || !ok {
			continue
		}
		if common == nil {
			common = newCommonParts(c)
		}
		base := common.channelOf(c.withoutAuto(ch))
		t.Make = func(value string) pipeline.Channel {
			made, settings := base, ch.instance(value)
			made.Name = settings.Name
			made.Sender = senders.Of(settings)
			made.Fallback = senders.Fallback(settings)
			return made
		}
		templates = append(templates, t)
	}
	return templates
}

// ChannelOf returns the channel of an event that a rule sends to a channel or a template of that name; why is the reason if it is
// the fallback of the template. Whether the template may make one more channel only a running relay knows.
func (c *Config) ChannelOf(name string, e *events.Event) (channel, why string) {
	i := slices.IndexFunc(c.Channels, func(ch Channel) bool { return ch.Name == name })
	if i < 0 || !c.Channels[i].isTemplate() {
		return name, ""
	}
	t, ok := c.Channels[i].template()
	if !ok {
		return name, ""
	}
	instance, why := t.InstanceOf(e)
	if why != "" {
		return t.Fallback, why
	}
	return instance.Name, ""
}

// instanceNamed returns the settings of the channel of that name that a template would make.
func (c *Config) instanceNamed(name string) (Channel, bool) {
	for _, ch := range c.Channels {
		if !ch.isTemplate() {
			continue
		}
		if t, ok := ch.template(); ok {
			if instance, made := t.InstanceNamed(name); made {
				return ch.instance(instance.Value), true
			}
		}
	}
	return Channel{}, false
}

// validateTemplate checks what is special to a template, or that a channel has none of its settings.
func (c Channel) validateTemplate(v validator, known map[string]int, all []Channel) {
	if !c.isTemplate() {
		c.validateNoTemplate(v)
		return
	}
	pattern, ok := pipeline.ParsePattern(c.Name)
	if !ok {
		return // its name is a fault already
	}
	if _, err := c.compiledValues(); err != nil {
		v.fault("values", "%q is not a regular expression: %v; use, for example, %s", c.Values, err, defaultValues)
	}
	for _, place := range []struct{ name, text string }{
		{"slack_channel", c.SlackChannel}, {"fallback_slack_channel", c.FallbackSlackChannel},
	} {
		in, has := pipeline.ParsePattern(place.text)
		if strings.Contains(place.text, "{{") && (!has || in.Label != pattern.Label) {
			v.fault(place.name, "%q has another placeholder than name; use {{%s}}, once", place.text, pattern.Label)
		}
	}
	switch i, exists := known[c.Fallback]; {
	case c.Fallback == "":
		v.fault("fallback", "is empty; name the channel that gets the events without a valid value, and those beyond max_channels")
	case !exists:
		v.fault("fallback", "%q is not a channel; use the name of one", c.Fallback)
	case all[i].isTemplate():
		v.fault("fallback", "%q is a template; use a channel without a placeholder", c.Fallback)
	}
	c.validateForgetAfter(v)
	c.validateNoSenders(v)
}

// validateForgetAfter finds what must be remembered for longer than the channel.
func (c Channel) validateForgetAfter(v validator) {
	needed, by := c.RememberPosted, "remember_posted"
	for _, tier := range c.Tiers() {
		if longest := ratelimit.Longest(tier.Windows); longest > needed {
			needed, by = longest, "the longest window"
		}
	}
	if c.DigestInterval > needed {
		needed, by = c.DigestInterval, "digest_interval"
	}
	if c.forgetAfter() < needed {
		v.fault("forget_after", "%s is less than %s, %s, which would be forgotten too early; use %s or more",
			show(c.forgetAfter()), by, show(needed), show(needed))
	}
}

// validateNoSenders finds settings that only matter where webhooks arrive.
func (c Channel) validateNoSenders(v validator) {
	for _, setting := range []struct {
		name  string
		isSet bool
	}{
		{"ingress_token", c.IngressToken != ""},
		{"auth", len(c.Auth) > 0},
		{"allow_from", len(c.AllowFrom) > 0},
		{"on_drop", len(c.OnDrop) > 0},
		{"rules", len(c.Rules) > 0},
		{"rule_tests", len(c.RuleTests) > 0},
	} {
		if setting.isSet {
			v.fault(setting.name, "is not possible in a template, to which nobody posts; set it in the channels whose rules send events to %s",
				c.Name)
		}
	}
}

// validateNoTemplate finds settings of templates in another channel.
func (c Channel) validateNoTemplate(v validator) {
	for _, setting := range []struct {
		name  string
		isSet bool
	}{
		{"values", c.Values != ""}, {"max_channels", c.MaxChannels != 0}, {"fallback", c.Fallback != ""}, {"forget_after", c.ForgetAfter != 0},
	} {
		if setting.isSet {
			v.fault(setting.name, "is a setting of templates; remove it, or put a placeholder in name, for example team-{{team}}")
		}
	}
	for _, place := range []struct{ name, text string }{
		{"slack_channel", c.SlackChannel}, {"fallback_slack_channel", c.FallbackSlackChannel},
	} {
		if strings.Contains(place.text, "{{") {
			v.fault(place.name, "%q has a placeholder, but name has none; put the same one in name", place.text)
		}
	}
}
