package app

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/redis/go-redis/v9"

	"slackrelay/configs"
	"slackrelay/slackapp"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
)

// Diagnose checks everything that a configuration refers to: Redis, the Slack token and its scopes, and each Slack channel. It
// posts nothing and changes nothing. found is called with the findings of one subject after the other. It stops when ctx ends.
func Diagnose(ctx context.Context, cfg configs.Config, found func([]slackapp.Finding)) {
	found(diagnoseRedis(ctx, cfg))
	inspectors := map[configs.SlackApp]*slackapp.Inspector{} // of the tokens that Slack accepts
	for _, access := range cfg.SlackAccesses() {
		if ctx.Err() != nil {
			return
		}
		inspector := slackapp.NewInspector(slackapp.InspectorOptions{
			Setting: access.Setting, Token: string(access.Token), APIURL: access.APIURL, Timeout: cfg.SlackTimeout,
		})
		findings := inspector.Token(ctx)
		if slackapp.Worst(findings) != slackapp.Fault {
			inspectors[access.SlackApp] = inspector
		}
		found(findings)
	}
	for _, d := range cfg.Destinations() {
		inspector := inspectors[d.Access.SlackApp]
		if d.SlackChannel != "" && inspector == nil {
			continue // the token's faults say all there is to say
		}
		if ctx.Err() != nil {
			return
		}
		found(diagnoseDestination(ctx, inspector, d))
	}
}

// diagnoseDestination checks where messages go.
func diagnoseDestination(ctx context.Context, inspector *slackapp.Inspector, d configs.Destination) []slackapp.Finding {
	switch {
	case d.WebhookURL != "":
		return []slackapp.Finding{diagnoseWebhook(d)}
	case d.SlackChannel != "":
		return inspector.Channel(ctx, d.Setting, d.SlackChannel)
	default:
		return []slackapp.Finding{{
			Subject: d.Setting, Grade: slackapp.Warning, Message: "has no Slack destination; its messages are only printed on the console",
			Remedy: "set slack_token and slack_channel, or slack_webhook_url",
		}}
	}
}

// diagnoseWebhook says what can be known of an incoming webhook without posting to it.
func diagnoseWebhook(d configs.Destination) slackapp.Finding {
	f := slackapp.Finding{Subject: d.Setting, Grade: slackapp.OK, Message: "posts to an incoming webhook, which only a message can test"}
	u, err := url.Parse(string(d.WebhookURL))
	if err == nil && u.Host != "hooks.slack.com" && u.Host != "hooks.slack-gov.com" {
		f.Message = fmt.Sprintf("posts to %s, which is not Slack; only a message can test it", u.Host)
	}
	return f
}

// diagnoseRedis checks the Redis of a configuration.
func diagnoseRedis(ctx context.Context, cfg configs.Config) []slackapp.Finding {
	const subject = "redis"
	opts, err := cfg.Redis()
	switch {
	case err != nil:
		return []slackapp.Finding{{Subject: subject, Grade: slackapp.Fault, Message: err.Error(), Remedy: "correct the setting"}}
	case opts == nil:
		return []slackapp.Finding{{
			Subject: subject, Grade: slackapp.Warning, Message: "is not configured: one replica only, and a restart loses what is pending",
			Remedy: "set redis_url",
		}}
	}
	client := redis.NewUniversalClient(opts)
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	begun := time.Now()
	warnings, err := redisstore.Probe(ctx, client)
	if err != nil {
		return []slackapp.Finding{{
			Subject: subject, Grade: slackapp.Fault, Message: fmt.Sprintf("%s: %v", cfg.RedisAddress(), err), Remedy: store.Describe(err),
		}}
	}
	findings := make([]slackapp.Finding, 0, len(warnings)+1)
	for _, warning := range warnings {
		findings = append(findings, slackapp.Finding{Subject: subject, Grade: slackapp.Warning, Message: warning})
	}
	return append(findings, slackapp.Finding{
		Subject: subject, Grade: slackapp.OK,
		Message: fmt.Sprintf("%s is available, and answered in %s", cfg.RedisAddress(), time.Since(begun).Round(time.Millisecond/10)),
	})
}
