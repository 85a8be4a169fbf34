package configs_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/server"
)

func TestServerGetsTheCredentials(t *testing.T) {
	secret := write(t, "gh", " from-file \n")
	cfg := good(t, `
channels:
  - name: a
    allow_from: [10.0.0.0/8]
    on_drop: [{source: sentry, reply: 429}]
    auth:
      - {name: gh, kind: github, source: github, secret_file: `+secret+`}
      - {name: am, kind: basic, username: u, secret: pw}
      - {name: mine, kind: hmac, header: X-Sig, algorithm: sha512, encoding: base64, prefix: "v0=", timestamp_header: X-Time,
         tolerance: 1m, secret: k}
      - {name: aws, kind: sns, topics: ["arn:aws:sns:eu-west-1:1:t"], confirm: true}
`)
	channel := cfg.ServerChannels()[0]
	require.Equal(t, []server.Credential{
		{Name: "gh", Kind: "github", Source: "github", Secret: "from-file"},
		{Name: "am", Kind: "basic", Username: "u", Secret: "pw"},
		{
			Name: "mine", Kind: "hmac", Header: "X-Sig", Algorithm: "sha512", Encoding: "base64", Prefix: "v0=",
			TimestampHeader: "X-Time", Tolerance: time.Minute, Secret: "k",
		},
		{Name: "aws", Kind: "sns", Topics: []string{"arn:aws:sns:eu-west-1:1:t"}, Confirm: true},
	}, channel.Credentials)
	require.Equal(t, []string{"sentry"}, channel.Throttled)
	require.Equal(t, "10.0.0.0/8", channel.AllowFrom[0].String())
	require.Contains(t, cfg.Files(), secret)
}

func TestInvalidCredentialsAreRefused(t *testing.T) {
	bad(t, `
trusted_proxies: [nowhere]
channels:
  - name: a
    allow_from: [10.0.0.0/33]
    on_drop: [{source: xymon, reply: 429}, {source: sentry, reply: 503}]
    auth:
      - {name: x, kind: magic, secret: s3cret}
      - {name: y, kind: github}
      - {name: y, kind: bearer, secret: s3cret, source: githup}
      - {name: z, kind: mtls}
      - {name: f, kind: bearer, secret: s3cret, secret_file: /does/not/exist}
      - {name: g, kind: bearer, secret_file: /does/not/exist}
      - {name: h, kind: bearer, secret: s3cret, colour: red}
`, nil,
		`relay.yaml:2: trusted_proxies[0]: "nowhere" is not an address or a range; use`,
		`relay.yaml:5: channels[0].allow_from[0]: "10.0.0.0/33" is not an address or a range`,
		`relay.yaml:6: channels[0].on_drop[0].source: "xymon" is not a source; use `,
		"relay.yaml:6: channels[0].on_drop[1].reply: 503 is not supported; use 429",
		`relay.yaml:8: channels[0].auth[0].kind: "magic" is not a kind of credential; use basic, bearer`,
		"relay.yaml:9: channels[0].auth[1].secret: is empty; set secret or secret_file",
		`relay.yaml:10: channels[0].auth[2].name: "y" is the name of another credential`,
		`relay.yaml:10: channels[0].auth[2].source: "githup" is not a source; did you mean github?`,
		"relay.yaml:11: channels[0].auth[3].kind: mtls needs tls_client_ca_file",
		"relay.yaml:12: channels[0].auth[4].secret: cannot be combined with channels[0].auth[4].secret_file",
		"relay.yaml:13: channels[0].auth[5].secret_file: cannot be read",
		"relay.yaml:13: channels[0].auth[5].secret: is empty; set secret or secret_file",
		"relay.yaml:14: channels[0].auth[6].colour: unknown setting; use algorithm")
}

// A channel with a credential is authenticated.
func TestCredentialCountsAsAuthentication(t *testing.T) {
	good(t, "listen: :8080\nchannels: [{name: a, auth: [{name: x, kind: bearer, secret: s}]}]\n")
}

func TestCredentialsThatProtectNothingAreRefused(t *testing.T) {
	bad(t, `
trusted_proxies: ["::ffff:10.0.0.0/80"]
channels:
  - name: a
    auth:
      - {name: empty, kind: standard, secret: whsec_}
      - {name: short, kind: standard, secret: whsec_c2hvcnQ=}
      - {name: blank, kind: hmac, header: X, secret: " "}
      - {name: aws, kind: sns, source: generic, topics: ["arn:aws:sns:eu-west-1:1:t"]}
      - {name: topic, kind: sns, topics: [alarms]}
`, nil,
		`relay.yaml:2: trusted_proxies[0]: "::ffff:10.0.0.0/80" is not an address or a range`,
		"relay.yaml:6: channels[0].auth[0].secret: the value is a key of 0 bytes",
		"relay.yaml:7: channels[0].auth[1].secret: the value is a key of 5 bytes; Standard Webhooks require 24 or more",
		"relay.yaml:8: channels[0].auth[2].secret: is empty; set secret or secret_file",
		`relay.yaml:9: channels[0].auth[3].source: "generic" is not possible with kind sns; use sns, or leave it out`,
		`relay.yaml:10: channels[0].auth[4].topics: "alarms" is not the ARN of a topic; use one like`)
	cfg := good(t, "channels: [{name: a, allow_from: [\"::ffff:10.0.0.0/104\"]}]\n")
	require.Equal(t, "10.0.0.0/8", cfg.ServerChannels()[0].AllowFrom[0].String())
}

// certificateFiles writes a certificate and its key.
func certificateFiles(t *testing.T) (certificate, private string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	certificate = write(t, "crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	private = write(t, "key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})))
	return certificate, private
}

func TestTLSNeedsACertificateAndItsKey(t *testing.T) {
	certificate, private := certificateFiles(t)
	both := []string{"RELAY_TLS_CERT_FILE=" + certificate, "RELAY_TLS_KEY_FILE=" + private}
	cfg := good(t, "", both...)
	config, err := cfg.TLS()
	require.NoError(t, err)
	require.Equal(t, tls.NoClientCert, config.ClientAuth)
	cfg = good(t, "", append(both, "RELAY_TLS_CLIENT_CA_FILE="+certificate)...)
	config, err = cfg.TLS()
	require.NoError(t, err)
	require.Equal(t, tls.VerifyClientCertIfGiven, config.ClientAuth)
	require.Equal(t, []string{certificate, private}, cfg.Files()[:2:2])

	bad(t, "", both[:1], "RELAY_TLS_CERT_FILE: set it together with tls_key_file")
	bad(t, "", []string{"RELAY_TLS_CLIENT_CA_FILE=" + certificate},
		"tls_cert_file: set it together with tls_key_file; tls_client_ca_file needs both")
	bad(t, "", []string{both[0], "RELAY_TLS_KEY_FILE=/does/not/exist"}, "RELAY_TLS_CERT_FILE: cannot be used with tls_key_file")
	bad(t, "", append(both, "RELAY_TLS_CLIENT_CA_FILE="+private), "RELAY_TLS_CLIENT_CA_FILE: "+private+" contains no certificate in PEM")
	bad(t, "", append(both, "RELAY_TLS_CLIENT_CA_FILE=/does/not/exist"), "RELAY_TLS_CLIENT_CA_FILE: cannot be read")
}
