package events

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"unicode"
)

// Uncategorized is the category of an event without one.
const Uncategorized = "uncategorized"

const (
	maxCategory = 100
	hashLength  = len("-") + 8
)

// NormalizeCategory makes a category from a sender's name for it: lower case, only [a-z0-9._-], at most 100 characters. Each
// run of other characters becomes one "-", and "-" is trimmed from both ends. If letters or digits were replaced or the name
// was cut, "-" and 8 hex digits of the SHA-256 of the original follow, so that different names stay different. An empty name
// is "uncategorized".
func NormalizeCategory(original string) string {
	if isNormalized(original) {
		return original
	}
	var b strings.Builder
	b.Grow(len(original))
	lost, inRun := false, false
	for _, r := range strings.ToLower(original) {
		if isCategoryRune(r) {
			b.WriteRune(r)
			inRun = false
			continue
		}
		lost = lost || unicode.IsLetter(r) || unicode.IsDigit(r)
		if !inRun {
			b.WriteByte('-')
			inRun = true
		}
	}
	category := strings.Trim(b.String(), "-")
	if len(category) > maxCategory || lost {
		category = strings.TrimRight(category[:min(len(category), maxCategory-hashLength)], "-")
		sum := sha256.Sum256([]byte(original))
		category += "-" + hex.EncodeToString(sum[:4])
	}
	if category == "" {
		return Uncategorized
	}
	return category
}

// FallbackCategory returns the category of an event without one: the name of the credential that its sender presented, else the
// first word of the User-Agent, else [Uncategorized]. The names of HTTP libraries tell nothing.
func FallbackCategory(credential string, header http.Header) string {
	if credential != "" {
		return NormalizeCategory(credential)
	}
	agent := strings.ToLower(header.Get("User-Agent"))
	if end := strings.IndexAny(agent, "/ (;,"); end >= 0 {
		agent = agent[:end]
	}
	if httpLibraries[agent] {
		return Uncategorized
	}
	return NormalizeCategory(agent)
}

// httpLibraries begin the User-Agent of programs that do not say who they are.
var httpLibraries = setOf(`
	mozilla curl wget go-http-client python-requests python-urllib python python-httpx aiohttp axios node node-fetch okhttp
	java java-http-client apache-httpclient ruby faraday guzzlehttp php libwww-perl lua-resty-http undici got reactornetty
	rest-client typhoeus postmanruntime insomnia httpie dart perl powershell go-resty req hackney akka-http jakarta
	restsharp httpclient`)

func isCategoryRune(r rune) bool {
	return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '.' || r == '_' || r == '-'
}

// isNormalized reports whether a name is a category as it is, as the names of many senders are.
func isNormalized(name string) bool {
	if name == "" || len(name) > maxCategory || name[0] == '-' || name[len(name)-1] == '-' {
		return false
	}
	return isOnly(name, func(c byte) bool { return isCategoryRune(rune(c)) })
}
