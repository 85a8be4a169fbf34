package server

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // for senders that know no other
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"
	"time"
)

var hashes = map[string]func() hash.Hash{"sha256": sha256.New, "sha512": sha512.New, "sha1": sha1.New}

// signed checks an HMAC of the body. A header may hold several signatures, parted by commas or spaces, while a secret is
// rotated; one that fits is enough.
func (c Credential) signed(a attempt) (proof, error) {
	mac, all := hmac.New(hashes[c.algorithm()], []byte(c.Secret)), sha256.New()
	write := func(text []byte) {
		mac.Write(text)
		all.Write(text)
	}
	if c.TimestampHeader != "" {
		stamp := a.request.Header.Get(c.TimestampHeader)
		if !c.recent(stamp, a.now) {
			return proof{}, errRefused
		}
		write([]byte(stamp + ":"))
	}
	write(a.wire)
	if !oneFits(a.request.Header.Get(c.Header), c.Prefix, c.Encoding, mac.Sum(nil)) {
		return proof{}, errRefused
	}
	return proof{signed: hex.EncodeToString(all.Sum(nil)[:16])}, nil
}

// oneFits tells whether one of the signatures in a header is the one that is expected.
func oneFits(header, prefix, encoding string, want []byte) bool {
	fits := false
	for _, signature := range strings.FieldsFunc(header, func(r rune) bool { return r == ',' || r == ' ' }) {
		text, ok := strings.CutPrefix(signature, prefix)
		var got []byte
		var err error
		if encoding == "base64" {
			got, err = base64.StdEncoding.DecodeString(text)
		} else {
			got, err = hex.DecodeString(text)
		}
		fits = hmac.Equal(got, want) && ok && err == nil || fits
	}
	return fits
}

// recent tells whether a signed time, in Unix seconds, is near enough to now: an old message may be sent by anybody who saw it.
func (c Credential) recent(stamp string, now time.Time) bool {
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	return err == nil && now.Sub(time.Unix(seconds, 0)).Abs() <= c.Tolerance
}

// standard checks a signature as Standard Webhooks define it
// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md). Within the tolerance, a
// message that is sent twice has the same id, and is a duplicate.
func (c Credential) standard(a attempt) (proof, error) {
	id, stamp := a.request.Header.Get("Webhook-Id"), a.request.Header.Get("Webhook-Timestamp")
	key, err := standardKey(c.Secret)
	if err != nil || id == "" || !c.recent(stamp, a.now) {
		return proof{}, errRefused
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + stamp + "."))
	mac.Write(a.wire)
	if !standardFits(a.request.Header.Get("Webhook-Signature"), mac.Sum(nil)) {
		return proof{}, errRefused
	}
	return proof{signed: id}, nil
}

// standardFits looks for a signature among "v1,<base64> v1,<base64>".
func standardFits(header string, want []byte) bool {
	fits := false
	for signature := range strings.FieldsSeq(header) {
		text, ok := strings.CutPrefix(signature, "v1,")
		got, err := base64.StdEncoding.DecodeString(text)
		fits = hmac.Equal(got, want) && ok && err == nil || fits
	}
	return fits
}

func standardKey(secret string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return nil, fmt.Errorf("decode the secret: %w", err)
	}
	return key, nil
}

// certified tells whether the client's certificate, which the listener verified, is one of those that are meant.
func (c Credential) certified(a attempt) bool {
	if a.request.TLS == nil || len(a.request.TLS.VerifiedChains) == 0 {
		return false
	}
	certificate := a.request.TLS.PeerCertificates[0]
	names := append([]string{certificate.Subject.CommonName}, certificate.DNSNames...)
	names = append(names, certificate.EmailAddresses...)
	for _, uri := range certificate.URIs {
		names = append(names, uri.String())
	}
	return len(c.Subjects) == 0 || slices.ContainsFunc(names, func(name string) bool { return slices.Contains(c.Subjects, name) })
}
