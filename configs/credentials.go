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
	signing := map[string]string{} // where a secret signs first
	for i, ch := range c.Channels {
		in := v.in(indexed("channels", i))
		in.weak("ingress_token", ch.IngressToken)
		for j, credential := range ch.Auth {
			field := indexed("auth", j)
			in.in(field).weak("secret", credential.Secret)
			if option := credential.option(); option.Check() == nil {
				in.in(field).replayable(option, c.Dedupe)
				in.in(field).shared(option, signing)
			}
		}
	}
}

func (v validator) weak(name string, secret Secret) {
	if secret != "" && utf8.RuneCountInString(string(secret)) < minSecret {
		v.fault(name, "has fewer than %d characters and can be guessed; use a random one, for example from openssl rand -hex 32", minSecret)
	}
}

// replayable finds signatures that somebody who sees one can use again.
func (v validator) replayable(c server.Credential, dedupe time.Duration) {
	if c.Unbound() {
		v.fault("source", "is empty; the credential %s signs bodies, but only their shape decides their format; set source", c.Name)
	}
	if replayable := c.Replayable(); replayable > dedupe {
		v.fault("tolerance", "the credential %s accepts signatures that are up to %s old, but dedupe is %s: "+
			"a webhook that is sent again after that is posted again; raise dedupe", c.Name, show(replayable), show(dedupe))
	}
}

// shared finds a signing credential with the secret of an earlier one: what is signed for one passes at the other.
func (v validator) shared(c server.Credential, signing map[string]string) {
	if !c.Signs() {
		return
	}
	if first, known := signing[c.Secret]; known {
		v.fault("secret", "is the same as that of %s: "+
			"a webhook that is signed for one can be sent again to the other; use different secrets", first)
		return
	}
	signing[c.Secret] = strings.TrimSuffix(v.where, ".")
}
