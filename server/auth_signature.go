package server

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // for senders that support nothing else
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"time"
)

var hashes = map[string]func() hash.Hash{"sha256": sha256.New, "sha512": sha512.New, "sha1": sha1.New}

// verifyHMAC checks an HMAC of the body. While a secret is rotated, a header may contain several signatures, separated by commas
// or spaces; one that matches is enough.
func (c Credential) verifyHMAC(in *ingestRequest) (proof, error) {
	mac := hmac.New(hashes[c.algorithm()], []byte(c.Secret))
	signed := sha256.New()
	write := func(text []byte) {
		mac.Write(text)
		signed.Write(text)
	}
	if c.TimestampHeader != "" {
		stamp := in.r.Header.Get(c.TimestampHeader)
		if !c.recent(stamp, in.now) {
			return proof{}, errRefused
		}
		write([]byte(stamp + ":"))
	}
	write(in.body.wire)
	signatures := strings.FieldsFunc(in.r.Header.Get(c.Header), func(r rune) bool { return r == ',' || r == ' ' })
	if !anyMatches(signatures, c.Prefix, c.Encoding, mac.Sum(nil)) {
		return proof{}, errRefused
	}
	return proof{signed: hex.EncodeToString(signed.Sum(nil)[:16])}, nil
}

// anyMatches reports whether one of the signatures, each after a prefix, is the expected one.
func anyMatches(signatures []string, prefix, encoding string, want []byte) bool {
	matches := false
	for _, signature := range signatures {
		text, ok := strings.CutPrefix(signature, prefix)
		var got []byte
		var err error
		if encoding == "base64" {
			got, err = base64.StdEncoding.DecodeString(text)
		} else {
			got, err = hex.DecodeString(text)
		}
		matches = hmac.Equal(got, want) && ok && err == nil || matches
	}
	return matches
}

// recent reports whether a signed time, in Unix seconds, is within the tolerance: anybody who saw an old message may send it again.
func (c Credential) recent(stamp string, now time.Time) bool {
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	return err == nil && now.Sub(time.Unix(seconds, 0)).Abs() <= c.Tolerance
}

// verifyStandard checks a signature as Standard Webhooks define it
// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md). Within the tolerance, a
// message that is sent twice has the same id, and is a duplicate.
func (c Credential) verifyStandard(in *ingestRequest) (proof, error) {
	id := in.r.Header.Get("Webhook-Id")
	stamp := in.r.Header.Get("Webhook-Timestamp")
	key, err := standardKey(c.Secret)
	if err != nil || id == "" || !c.recent(stamp, in.now) {
		return proof{}, errRefused
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + stamp + "."))
	mac.Write(in.body.wire)
	signatures := strings.Fields(in.r.Header.Get("Webhook-Signature")) // "v1,<base64> v1,<base64>"
	if !anyMatches(signatures, "v1,", "base64", mac.Sum(nil)) {
		return proof{}, errRefused
	}
	return proof{signed: id}, nil
}

func standardKey(secret string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return nil, fmt.Errorf("decode the secret: %w", err)
	}
	return key, nil
}
