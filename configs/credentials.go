package configs

import (
	"strings"
	"time"
	"unicode/utf8"

	"slackrelay/server"
)

// minSecret is the number of characters from which a token or password cannot be guessed.
const minSecret = 16

// credentialWarnings finds secrets that can be guessed, and signatures that prove less than they seem to.
func (c *Config) credentialWarnings(v validator) {
	v.weak("admin_token", c.AdminToken)
	var signing []namedCredential
	for i, ch := range c.Channels {
		in := v.in(indexed("channels", i))
		in.weak("ingress_token", ch.IngressToken)
		for j, credential := range ch.Auth {
			named := namedCredential{Credential: credential.option(), v: in.in(indexed("auth", j))}
			named.v.weak("secret", credential.Secret)
			if named.Check() != nil {
				continue
			}
			named.warn(c.Dedupe)
			if named.Signs() {
				signing = append(signing, named)
			}
		}
	}
	warnShared(signing)
}

func (v validator) weak(name string, secret Secret) {
	if secret != "" && utf8.RuneCountInString(string(secret)) < minSecret {
		v.fault(name, "has fewer than %d characters and can be guessed; use a random one, for example from openssl rand -hex 32", minSecret)
	}
}

// namedCredential is a credential and where it stands in the configuration.
type namedCredential struct {
	server.Credential

	v validator
}

func (c namedCredential) field() string { return strings.TrimSuffix(c.v.where, ".") }

func (c namedCredential) warn(dedupe time.Duration) {
	if c.Unbound() {
		c.v.fault("source", "is empty; the credential %s signs bodies, but only their shape decides their format; set source", c.Name)
	}
	if replayable := c.Replayable(); replayable > dedupe {
		c.v.fault("tolerance", "the credential %s accepts signatures that are up to %s old, but dedupe is %s: "+
			"a webhook that is sent again after that is posted again; raise dedupe", c.Name, show(replayable), show(dedupe))
	}
}

// warnShared finds signing credentials with the same secret: what is signed for one passes at the other.
func warnShared(signing []namedCredential) {
	for i, one := range signing {
		for _, other := range signing[:i] {
			if one.Secret == other.Secret {
				one.v.fault("secret", "is the same as that of %s: "+
					"a webhook that is signed for one can be sent again to the other; use different secrets", other.field())
				break
			}
		}
	}
}
