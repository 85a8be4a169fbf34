package configs

import (
	"fmt"
	"time"
	"unicode/utf8"

	"slackrelay/server"
)

// minSecret is how many characters a token or password has that cannot be guessed.
const minSecret = 16

// credentialWarnings say which secrets can be guessed, and which signatures say less than they seem to.
func (c *Config) credentialWarnings() []string {
	all := weak(nil, "admin_token", c.AdminToken)
	var signing []namedCredential
	for i, ch := range c.Channels {
		where := fmt.Sprintf("channels[%d] (%s).", i, ch.Name)
		all = weak(all, where+"ingress_token", ch.IngressToken)
		for j, credential := range ch.Auth {
			named := namedCredential{where: fmt.Sprintf("%sauth[%d] (%s)", where, j, credential.Name), Credential: credential.option()}
			all = weak(all, named.where+".secret", credential.Secret)
			if credential.option().Check() != nil {
				continue
			}
			all = append(all, named.warnings(c.Dedupe)...)
			if named.Signs() {
				signing = append(signing, named)
			}
		}
	}
	return append(all, sharedWarnings(signing)...)
}

func weak(all []string, where string, secret Secret) []string {
	if secret == "" || utf8.RuneCountInString(string(secret)) >= minSecret {
		return all
	}
	return append(all, fmt.Sprintf("%s has fewer than %d characters and can be guessed; use a random one, for example from openssl rand -hex 32", where, minSecret))
}

// namedCredential is a credential and where it stands in the configuration.
type namedCredential struct {
	server.Credential

	where string
}

func (c namedCredential) warnings(dedupe time.Duration) []string {
	var all []string
	if c.Unbound() {
		all = append(all, c.where+" signs bodies, but has no source: only the shape of the body decides its format; set source")
	}
	if replayable := c.Replayable(); replayable > dedupe {
		all = append(all, fmt.Sprintf("%s accepts signatures that are up to %s old, but dedupe is %s: a webhook that is sent again after that is posted again; raise dedupe", c.where, replayable, dedupe))
	}
	return all
}

// sharedWarnings name the signing credentials that have the secret of another one: what is signed for one passes at the other.
func sharedWarnings(signing []namedCredential) []string {
	var all []string
	for i, one := range signing {
		for _, other := range signing[:i] {
			if one.Secret == other.Secret {
				all = append(all, fmt.Sprintf("%s has the same secret as %s: a webhook that is signed for one can be sent again to the other; give each its own secret", one.where, other.where))
				break
			}
		}
	}
	return all
}
