package notifier

import (
	"net"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"slackrelay/events"
)

// imageOf returns the picture that a sender made of an alert; nil = there is none that Slack can load, or the alert is over.
func imageOf(e events.Event) slack.Block {
	if e.Status == events.Resolved {
		return nil
	}
	for _, l := range e.Links {
		if !l.Image {
			continue
		}
		if address := publicImage(l.URL); address != "" {
			alt := cutMarkup(withoutHidden(oneLine("Picture of "+titleOf(e))), maxHeadline)
			return slack.NewImageBlock(address, alt, "", nil)
		}
	}
	return nil
}

// publicImage returns an address in a form that Slack accepts if it can be one that Slack reaches; "" = it is not.
func publicImage(address string) string {
	u, ok := events.ParseLink(address)
	if !ok || u.Scheme != "https" || u.User != nil || !isPublicHost(u.Hostname()) {
		return ""
	}
	return u.String()
}

// privateDomains are the ends of names that only a network of its own resolves.
var privateDomains = []string{"local", "localhost", "localdomain", "internal", "intranet", "lan", "home", "corp", "private", "test", "svc", "invalid"}

func isPublicHost(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsGlobalUnicast() && !ip.IsPrivate()
	}
	host = strings.TrimSuffix(host, ".")
	dot := strings.LastIndexByte(host, '.')
	return dot > 0 && !slices.Contains(privateDomains, strings.ToLower(host[dot+1:]))
}

// WithoutImages returns the message without its pictures, to which its links still lead, and whether it had any.
func (m Message) WithoutImages() (Message, bool) {
	blocks := slices.DeleteFunc(slices.Clone(m.Blocks), func(b slack.Block) bool { return b.BlockType() == slack.MBTImage })
	had := len(blocks) < len(m.Blocks)
	m.Blocks = blocks
	return m, had
}
