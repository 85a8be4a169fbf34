package events

import (
	"net/url"
	"path"
	"slices"
	"strings"
)

// isUsefulLink reports whether a reader gains something from opening an address: no picture, no API.
func isUsefulLink(b *guess, s *scalar) bool {
	if s.of == "self" || slices.ContainsFunc(uselessLinks, func(part string) bool { return strings.Contains(s.name, part) }) {
		return false
	}
	u, ok := ParseLink(b.absolute(s.text))
	return ok && !isAPI(u) && !pictures[strings.ToLower(path.Ext(u.Path))]
}

// isAPI reports whether an address is for programs.
func isAPI(u *url.URL) bool {
	return strings.HasPrefix(u.Host, "api.") || strings.HasPrefix(u.Path, "/api/") || strings.Contains(u.Path, "/api/v") ||
		strings.Contains(u.Path, "/_apis/")
}

var uselessLinks = []string{
	"image", "icon", "avatar", "logo", "thumbnail", "picture", "photo", "api", "callback", "webhook", "hook", "clone", "giturl",
	"ssh", "download", "unsubscribe", "acknowledge", "ackurl", "commit", "serverurl", "baseurl", "rooturl", "externalurl", "siteurl",
	"editurl", "edit", "self", "compareurl", "instanceurl", "cdn", "schema", "delete", "silence",
	"organization", "account", "profile", "tenant",
}

var pictures = setOf(".png .jpg .jpeg .gif .svg .ico .webp")

// absolute joins an address without a host to the address of the sender, if the body has one.
func (b *guess) absolute(address string) string {
	if !strings.HasPrefix(address, "/") || strings.HasPrefix(address, "//") {
		return address
	}
	for i := range b.all {
		if s := &b.all[i]; baseFields.place(s) < none {
			if base, ok := ParseLink(s.text); ok {
				return base.ResolveReference(&url.URL{Path: address}).String()
			}
		}
	}
	return address
}

var baseFields = anyOf("externalurl siteurl baseurl rooturl serverurl instanceurl publicurl url")

// isID is an identity: no constant, no state and no sentence.
func isID(_ *guess, s *scalar) bool {
	isOne := s.kind == '"' && !strings.Contains(s.text, "\n") || s.kind == '0' && s.text != "0" && s.text != "-1"
	return isOne && !s.stands && len(s.text) <= maxID
}

// isIDOfAlert is an id, and no alias that is only another name.
func isIDOfAlert(b *guess, s *scalar) bool {
	return isID(b, s) && (s.name != "alias" || !strings.Contains(s.text, " "))
}

// isLastingID is the id of an alert, not that of one run of a job, whose end is not the end of the next.
func isLastingID(b *guess, s *scalar) bool {
	isOfDelivery := slices.ContainsFunc(deliveryPrefixes, func(prefix string) bool { return strings.HasPrefix(s.text, prefix) })
	return isID(b, s) && !b.outcome.run && !isOfDelivery
}

// deliveryPrefixes begin the ids of webhooks, of which each has another one.
var deliveryPrefixes = []string{"evt", "event_", "msg_", "req_", "dlv", "wh_", "whk", "hook_", "delivery"}
