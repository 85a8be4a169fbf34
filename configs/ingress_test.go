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

	"slackrelay/configs"
	"slackrelay/events"
	"slackrelay/server"
)

func TestCredentials(t *testing.T) {
	secret := write(t, "gh", " from-file \n")
	cfg := good(t, `
channels:
  - name: a
    allow_from: [10.0.0.0/8]
    on_drop: [{source: sentry, reply: 429}]
    auth:
      - {name: gh, kind: github, source: github, secret_file: `+secret+`}
      - {name: am, kind: basic, username: u, secret: pw}
      - {name: mine, kind: hmac, header: X-Sig, algorithm: sha512, encoding: base64, prefix: "v0=", timestamp_header: X-Time, tolerance: 1m, secret: k}
      - {name: aws, kind: sns, topics: ["arn:aws:sns:eu-west-1:1:t"], confirm: true}
`)
	channel := cfg.ServerChannels()[0]
	require.Equal(t, []server.Credential{
		{Name: "gh", Kind: "github", Source: "github", Secret: "from-file"},
		{Name: "am", Kind: "basic", Username: "u", Secret: "pw"},
		{Name: "mine", Kind: "hmac", Header: "X-Sig", Algorithm: "sha512", Encoding: "base64", Prefix: "v0=", TimestampHeader: "X-Time", Tolerance: time.Minute, Secret: "k"},
		{Name: "aws", Kind: "sns", Topics: []string{"arn:aws:sns:eu-west-1:1:t"}, Confirm: true},
	}, channel.Credentials)
	require.Equal(t, []string{"sentry"}, channel.Throttled)
	require.Equal(t, "10.0.0.0/8", channel.AllowFrom[0].String())
	require.Contains(t, cfg.Files(), secret)

	bad(t, `
trusted_proxies: [nowhere]
channels:
  - name: a
    allow_from: [10.0.0.0/33]
    on_drop: [{source: nagios, reply: 429}, {source: sentry, reply: 503}]
    auth:
      - {name: x, kind: magic, secret: s3cret}
      - {name: y, kind: github}
      - {name: y, kind: bearer, secret: s3cret, source: githup}
      - {name: z, kind: mtls}
      - {name: f, kind: bearer, secret: s3cret, secret_file: /does/not/exist}
      - {name: g, kind: bearer, secret_file: /does/not/exist}
      - {name: h, kind: bearer, secret: s3cret, colour: red}
`, nil,
		`trusted_proxies has "nowhere"; write addresses and ranges`, `channels[0] (a).allow_from has "10.0.0.0/33"`,
		`channels[0] (a).on_drop[0].source is "nagios", which is unknown`, "channels[0] (a).on_drop[1].reply is 503; it must be 429",
		`channels[0] (a).auth[0] (x): kind is "magic"; it must be basic, bearer`, "channels[0] (a).auth[1] (y): secret, or secret_file, is needed",
		"channels[0] (a).auth[2] (y).name is that of another credential", `channels[0] (a).auth[2] (y).source is "githup", which is unknown; did you mean github?`,
		"channels[0] (a).auth[3] (z).kind mtls needs tls_client_ca_file", "channels[0].auth[4].secret and ", "channels[0].auth[5].secret_file cannot be read",
		"channels[0] (a).auth[5] (g): secret, or secret_file, is needed", "channels[0].auth[6].colour is not a setting")
}

// A channel with a credential is authenticated.
func TestCredentialsAreAuthentication(t *testing.T) {
	good(t, "listen: :8080\nchannels: [{name: a, auth: [{name: x, kind: bearer, secret: s}]}]\n")
}

func TestRules(t *testing.T) {
	text := `
schedules:
  - {name: office, time_intervals: [{weekdays: ["monday:friday"], times: [{start_time: "08:00", end_time: "18:00"}], location: Europe/Berlin}]}
sources:
  - {name: backups, when: 'body.tool == "borg"', title: body.repo, severity: 'body.ok ? "info" : "error"', labels: [{name: Host.Name, value: body.host}]}
channels:
  - name: a
    rules:
      - {name: nights, match: [{field: severity, is: info}], outside: [office], mute: true}
      - {name: team, match: [{field: label.Team, in: [DBA, Storage]}], set: {category: Databases, channel: b}}
    rule_tests:
      - {name: by night, event: '{"title":"x","severity":"info"}', at: "2026-11-20T22:00:00Z", want: {rule: nights, muted: true}}
      - {name: by day, event: '{"title":"x","severity":"info"}', at: "2026-11-20T12:00:00Z", want: {rule: none, muted: false}}
      - {name: team, event: '{"title":"x","labels":{"Team":"DBA"}}', want: {category: databases, channel: b}}
      - {name: backup, event: '{"tool":"borg","repo":"db","ok":false,"host":"h1"}', want: {severity: error}}
  - name: b
`
	cfg := good(t, text)
	decoder, err := cfg.Decoder()
	require.NoError(t, err)
	all, err := decoder.Decode(events.Webhook{Body: []byte(`{"tool":"borg","repo":"db","ok":true,"host":"h1"}`)})
	require.NoError(t, err)
	require.Equal(t, []any{"backups", "db", events.Info, map[string]string{"Host.Name": "h1"}}, []any{all[0].Source, all[0].Title, all[0].Severity, all[0].Labels}, "names of people keep their case")
	require.Nil(t, cfg.Rules(cfg.Channels[1]))

	bad(t, `
schedules:
  - {name: office, time_intervals: [{weekdays: [caturday]}]}
channels: [{name: a}]
`, nil, "schedules[0] (office).time_intervals cannot be read: ")
	bad(t, `
schedules: [{name: x, time_intervals: [{}]}, {name: x, time_intervals: [{}]}]
channels: [{name: a}]
`, nil, "schedules[1] (x) has the name of another schedule")
	bad(t, `
sources: [{name: mine, title: 'body.'}]
channels: [{name: a}]
`, nil, "sources: source mine: title: ")
	bad(t, `
channels:
  - name: a
    rules:
      - {name: r, match: [{field: title, is: x}], set: {channel: nowhere}}
      - {name: r, match: [{field: title, is: x}]}
      - {match: [{field: title, is: x}]}
    rule_tests:
      - {name: t1, event: '{"title":"x"}', want: {rule: none, category: disk, muted: true}}
      - {name: t2, event: 'nonsense', want: {rule: r}}
      - {name: t3, event: '{"title":"x"}', at: noon, want: {rule: r}}
  - {name: b, rules: [{name: r, when: "severity =="}]}
  - {name: c, rules: [{name: r, during: [office]}]}
  - {name: d, rules: [{name: r, match: [{field: title, is: a, in: [b]}]}]}
  - {name: e, rules: [{name: r, match: [{field: title, is: true}]}]}
`, nil,
		`rules[0] (r).set.channel is "nowhere", which is no channel`, "rules[1] (r).name must be there, once", "rules[2] ().name must be there, once",
		`rule_tests[0] (t1) fails: rule is "r", not "none"`, `rule_tests[0] (t1) fails: category is "uncategorized", not "disk"`, `rule_tests[0] (t1) fails: muted is false, not true`,
		"rule_tests[1] (t2) cannot be run: event: ", `rule_tests[2] (t3) cannot be run: at is "noon"`,
		"channels[1] (b).rules[0] (r): when: ", `channels[2] (c).rules[0] (r): during: there is no schedule "office"`,
		`channels[3] (d).rules[0] (r): match[0]: field "title" needs one of is, in and matches`, "channels[4].rules[0].match[0].is must be text",
		`channels[4] (e).rules[0] (r): match[0]: field "title" needs one of`)
}

func TestTLS(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	certificate := write(t, "crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	private := write(t, "key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})))
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

	bad(t, "", both[:1], "tls_cert_file and tls_key_file are needed together")
	bad(t, "", []string{"RELAY_TLS_CLIENT_CA_FILE=" + certificate}, "tls_cert_file and tls_key_file are needed together")
	bad(t, "", []string{both[0], "RELAY_TLS_KEY_FILE=/does/not/exist"}, "tls_cert_file and tls_key_file cannot be used")
	bad(t, "", append(both, "RELAY_TLS_CLIENT_CA_FILE="+private), "tls_client_ca_file holds no certificate")
	bad(t, "", append(both, "RELAY_TLS_CLIENT_CA_FILE=/does/not/exist"), "tls_client_ca_file cannot be read")
}

func TestCanary(t *testing.T) {
	cfg := good(t, "", "RELAY_CANARY_INTERVAL=5m", "RELAY_CANARY_WEBHOOK_URL=https://x/services/y", "RELAY_OPERATIONS_WEBHOOK_URL=https://x/ops")
	require.NotNil(t, cfg.Canary())
	cfg = configs.Default()
	require.Nil(t, cfg.Canary())
	bad(t, "", []string{"RELAY_CANARY_INTERVAL=5m"}, "canary_interval needs canary_slack_channel or canary_webhook_url", "canary_interval needs operations_slack_channel or")
	bad(t, "", []string{"RELAY_CANARY_INTERVAL=5m", "RELAY_CANARY_SLACK_CHANNEL=C1", "RELAY_OPERATIONS_WEBHOOK_URL=https://x/ops", "RELAY_CANARY_WITHIN=1ms"},
		"canary_within is 1ms", "canary_slack_channel needs slack_token")
	bad(t, "", []string{"RELAY_CANARY_WEBHOOK_URL=nonsense"}, "canary_webhook_url must be")
}

// A configuration is told from another by its hash, which shows no secret; what lives as long as the process is kept.
func TestHashAndRestart(t *testing.T) {
	one, two := configs.Default(), configs.Default()
	require.Equal(t, one.Hash(), two.Hash())
	two.SlackToken = "xoxb-1"
	with := two.Hash()
	require.NotEqual(t, one.Hash(), with)
	two.SlackToken = "xoxb-2"
	require.Equal(t, with, two.Hash(), "the value of a secret is not in it")
	two.Channels[0].Window = time.Hour
	require.NotEqual(t, with, two.Hash())

	two.Listen, two.Dedupe, two.LogLevel, two.TLSCertFile = ":1", time.Minute, "debug", "x"
	require.Equal(t, []string{"listen", "dedupe", "log_level", "tls_cert_file"}, two.KeepWhatNeedsRestart(one))
	require.Equal(t, []any{one.Listen, one.Dedupe, one.LogLevel, ""}, []any{two.Listen, two.Dedupe, two.LogLevel, two.TLSCertFile})
	require.Equal(t, time.Hour, two.Channels[0].Window)
	require.Empty(t, two.KeepWhatNeedsRestart(one))
}
