package server_test

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/server"
)

const topic = "arn:aws:sns:eu-west-1:123456789012:alarms"

// amazon is a fake of Amazon SNS: it signs messages, and serves its own host and the authority of its certificate.
type amazon struct {
	key          *rsa.PrivateKey
	certificate  []byte         // PEM: the leaf alone, as Amazon serves it
	intermediate []byte         // DER: of the authority that signed it
	roots        *x509.CertPool // of the chain

	mu     sync.Mutex
	asked  []string // URLs
	moved  bool     // it redirects
	away   bool
	answer func(path string) (status int, body []byte) // instead of the certificate; nil = the certificate
}

// snsKey is shared by all tests, because generating a key is slow.
var snsKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// issuing is the address of the authority's certificate, as in Amazon's certificates.
const issuing = "http://crt.r2m01.amazontrust.com/r2m01.cer"

func newAmazon(tb testing.TB, until time.Time) *amazon {
	tb.Helper()
	return newAmazonNamed(tb, until, "sns.amazonaws.com")
}

func newAmazonNamed(tb testing.TB, until time.Time, name string) *amazon {
	tb.Helper()
	a := &amazon{roots: x509.NewCertPool()}
	authority := func(serial int64, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(tb, err)
		template := &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: fmt.Sprint("authority ", serial)},
			NotBefore: time.Now().Add(-24 * time.Hour),
			NotAfter:  time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		}
		if parent == nil {
			parent, parentKey = template, key
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
		require.NoError(tb, err)
		certificate, err := x509.ParseCertificate(der)
		require.NoError(tb, err)
		return certificate, key
	}
	root, rootKey := authority(1, nil, nil)
	a.roots.AddCert(root)
	intermediate, intermediateKey := authority(2, root, rootKey)
	a.intermediate = intermediate.Raw
	var err error
	a.key, err = snsKey()
	require.NoError(tb, err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IssuingCertificateURL: []string{issuing},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, intermediate, &a.key.PublicKey, intermediateKey)
	require.NoError(tb, err)
	a.certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

// selfSigned is a certificate of another issuer, for the same name and key.
func (a *amazon) selfSigned(tb testing.TB) []byte {
	tb.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(4), Subject: pkix.Name{CommonName: "sns.amazonaws.com"}, DNSNames: []string{"sns.amazonaws.com"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IssuingCertificateURL: []string{"http://169.254.169.254/latest.cer"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	require.NoError(tb, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// RoundTrip implements [http.RoundTripper].
func (a *amazon) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, r.URL.String())
	if a.away {
		return nil, errors.New("no route")
	}
	status, answer := http.StatusOK, a.certificate
	if a.answer != nil {
		status, answer = a.answer(r.URL.Path)
	}
	if r.URL.String() == issuing {
		status, answer = http.StatusOK, a.intermediate
	}
	if r.URL.Query().Get("Action") == "ConfirmSubscription" {
		answer = []byte("<ConfirmSubscriptionResponse><SubscriptionArn>arn:x</SubscriptionArn></ConfirmSubscriptionResponse>")
	}
	response := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(answer)), Request: r}
	if a.moved {
		response.StatusCode = http.StatusFound
		response.Header.Set("Location", "http://169.254.169.254/latest/meta-data")
	}
	return response, nil
}

// certURL is the address of the certificate.
const certURL = "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-7506a1e35b36ef5a444dd1a8e7cc3ed8.pem"

// at returns the time that long ago, in Amazon's format.
func at(ago time.Duration) string {
	return time.Now().Add(-ago).UTC().Format("2006-01-02T15:04:05.000Z")
}

// signed returns a message as Amazon sends it, with these fields changed. An empty Subject is left out.
func (a *amazon) signed(tb testing.TB, fields map[string]string) map[string]string {
	tb.Helper()
	m := map[string]string{
		"Type": "Notification", "MessageId": "165545c9-2a5c-472c-8df2-7ff2be2b3b1b", "TopicArn": topic, "Message": "Disk full",
		"Timestamp":        at(0),
		"SignatureVersion": "2", "SigningCertURL": certURL,
	}
	maps.Copy(m, fields)
	maps.DeleteFunc(m, func(name, value string) bool { return name == "Subject" && value == "" })
	names := []string{"Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"}
	if m["Type"] != "Notification" {
		names = []string{"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"}
	}
	m["Signature"] = a.sign(tb, m, names)
	return m
}

// sign returns the signature of these fields.
func (a *amazon) sign(tb testing.TB, m map[string]string, names []string) string {
	tb.Helper()
	text := ""
	for _, name := range names {
		if _, ok := m[name]; ok {
			text += name + "\n" + m[name] + "\n"
		}
	}
	algorithm := crypto.SHA256
	hashed := sha256.Sum256([]byte(text))
	sum := hashed[:]
	if m["SignatureVersion"] == "1" {
		old := sha1.Sum([]byte(text))
		algorithm = crypto.SHA1
		sum = old[:]
	}
	signature, err := rsa.SignPKCS1v15(rand.Reader, a.key, algorithm, sum)
	require.NoError(tb, err)
	return base64.StdEncoding.EncodeToString(signature)
}

// requests returns the URLs of all requests.
func (a *amazon) requests() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked
}

// snsServer accepts messages of the topic, and confirms its subscriptions if confirm is set.
func snsServer(a *amazon, confirm bool) (*server.Server, *stubIntake) {
	intake := &stubIntake{}
	return server.New(server.Options{
		Channels: []server.Channel{{Name: "c", Credentials: []server.Credential{{
			Name: "aws", Kind: "sns", Topics: []string{topic},
			Confirm: confirm,
		}}}},
		Intake: intake, Transport: a, SNSRoots: a.roots, Logger: slog.New(slog.DiscardHandler),
	}), intake
}

func publish(s *server.Server, m map[string]string) (int, string) {
	encoded, _ := json.Marshal(m) //nolint:errchkjson // texts
	r := post("/hooks/c", string(encoded))
	r.Header.Set("Content-Type", "text/plain; charset=UTF-8")
	r.Header.Set("X-Amz-Sns-Message-Type", m["Type"])
	status, _, answer := serve(s.Public(), r)
	return status, string(answer)
}

func TestSNSAcceptsOnlyMessagesOfTheTopic(t *testing.T) {
	t.Parallel()
	a := newAmazon(t, time.Now().Add(time.Hour))
	s, intake := snsServer(a, false)
	for _, version := range []string{"1", "2"} {
		for _, subject := range []string{"", "ALARM: disk"} {
			status, answer := publish(s, a.signed(t, map[string]string{"SignatureVersion": version, "Subject": subject}))
			require.Equal(t, http.StatusAccepted, status, answer)
			require.Equal(t, "aws", intake.sender)
			require.Equal(t, cmp.Or(subject, "Disk full"), intake.events[0].Title)
		}
	}
	require.Equal(t, []string{certURL, issuing}, a.requests(), "the certificate is cached")

	for name, change := range map[string]func(m map[string]string){
		"another message":   func(m map[string]string) { m["Message"] = "All is well" },
		"a subject added":   func(m map[string]string) { m["Subject"] = "x" },
		"another time":      func(m map[string]string) { m["Timestamp"] = at(time.Minute) },
		"no id":             func(m map[string]string) { delete(m, "MessageId") },
		"another topic":     func(m map[string]string) { m["TopicArn"] += "2" },
		"no signature":      func(m map[string]string) { delete(m, "Signature") },
		"another version":   func(m map[string]string) { m["SignatureVersion"] = "3" },
		"an old version":    func(m map[string]string) { m["SignatureVersion"] = "1" },
		"no certificate":    func(m map[string]string) { delete(m, "SigningCertURL") },
		"names in capitals": func(m map[string]string) { m["MESSAGE"], m["Message"] = m["Message"], "evil" },
	} {
		t.Run(name, func(t *testing.T) {
			m := a.signed(t, nil)
			change(m)
			status, answer := publish(s, m)
			require.Equal(t, http.StatusUnauthorized, status, "%s: %s", name, answer)
		})
	}
	foreign := a.signed(t, map[string]string{"TopicArn": "arn:aws:sns:eu-west-1:666:mine"})
	status, _ := publish(s, foreign)
	require.Equal(t, http.StatusUnauthorized, status, "Amazon signs messages of anybody's topics")
}

// Amazon signs what anybody publishes to a topic of their own. A field with line breaks could make that look like a message of the
// listed topic.
func TestSNSRefusesControlCharactersInFields(t *testing.T) {
	t.Parallel()
	a := newAmazon(t, time.Now().Add(time.Hour))
	mine := "arn:aws:sns:eu-west-1:666:mine"
	honest := a.signed(t, map[string]string{
		"Message":  "PWNED\nMessageId\nforged-1\nSubscribeURL\n\nTimestamp\n\nToken\n\nTopicArn\n" + topic + "\nType\nz",
		"TopicArn": mine,
	})
	forged := maps.Clone(honest)
	maps.Copy(forged, map[string]string{
		"Message": "PWNED", "MessageId": "forged-1", "SubscribeURL": "", "Timestamp": "", "Token": "", "TopicArn": topic,
		"Type": "z\nMessageId\n" + honest["MessageId"] + "\nTimestamp\n" + honest["Timestamp"] + "\nTopicArn\n" + mine + "\nType\nNotification",
	})
	s, intake := snsServer(a, false)
	status, answer := publish(s, forged)
	require.Equal(t, http.StatusUnauthorized, status, answer)
	require.Empty(t, intake.events)

	for _, kind := range []string{"", "notification", "Notification ", "Notification\n", "Other"} {
		status, _ := publish(s, a.signed(t, map[string]string{"Type": kind}))
		require.Equal(t, http.StatusUnauthorized, status, "%q", kind)
	}
	for _, name := range []string{"MessageId", "Subject", "Timestamp", "Type"} {
		for _, line := range []string{"\n", "\r", "\t", "\x00", "\x7f", "\u0085", "\u2028"} {
			m := map[string]string{"Subject": "x", "MessageId": "1", "Timestamp": at(0), "Type": "Notification"}
			m[name] += line + "y"
			status, _ := publish(s, a.signed(t, m))
			require.Equal(t, http.StatusUnauthorized, status, "%s with %q", name, line)
		}
	}
	require.Empty(t, intake.events)
	status, answer = publish(s, a.signed(t, map[string]string{"Message": "two\nlines"}))
	require.Equal(t, http.StatusAccepted, status, answer)
	require.Equal(t, "two\nlines", intake.events[0].Text)
}

// A field that occurs twice, or in another case, has the value that was verified.
func TestSNSIgnoresDuplicateFields(t *testing.T) {
	t.Parallel()
	a := newAmazon(t, time.Now().Add(time.Hour))
	s, intake := snsServer(a, false)
	encoded, err := json.Marshal(a.signed(t, nil))
	require.NoError(t, err)
	for _, whole := range []string{
		`{"Message":"PWNED",` + string(encoded[1:]), `{"message":"PWNED","MESSAGE":"PWNED","Messag\u0065":"PWNED",` + string(encoded[1:]),
		string(encoded[:len(encoded)-1]) + `,"MESSAGE":"PWNED","Subject":null}`,
	} {
		t.Run(whole, func(t *testing.T) {
			status, _, answer := serve(s.Public(), post("/hooks/c", whole))
			require.Equal(t, http.StatusAccepted, status, "%s", answer)
			require.Equal(t, "Disk full", intake.events[0].Title)
			require.NotContains(t, fmt.Sprintf("%+v", intake.events), "PWNED")
		})
	}
	for _, whole := range []string{
		string(encoded[:len(encoded)-1]) + `,"Message":"PWNED"}`, string(encoded[:len(encoded)-1]) + `,"Messag\u0065":"PWNED"}`,
		string(encoded) + string(encoded),
		string(encoded[:len(encoded)-1]) + `,"Subject":5}`, "[" + string(encoded) + "]", "null", "",
	} {
		t.Run(whole, func(t *testing.T) {
			status, _, _ := serve(s.Public(), post("/hooks/c", whole))
			require.NotEqual(t, http.StatusAccepted, status, whole)
		})
	}
}

// Unsigned fields, headers and paths have no effect, whatever the source of the credential.
func TestSNSUsesOnlySignedFields(t *testing.T) {
	t.Parallel()
	a := newAmazon(t, time.Now().Add(time.Hour))
	for _, source := range []string{"", "sns"} {
		intake := &stubIntake{}
		s := server.New(server.Options{
			Channels: []server.Channel{{
				Name:        "c",
				Credentials: []server.Credential{{Name: "aws", Kind: "sns", Source: source, Topics: []string{topic}}},
			}},
			Intake: intake, Transport: a, SNSRoots: a.roots, Logger: slog.New(slog.DiscardHandler),
		})
		for _, path := range []string{
			"/hooks/c", "/hooks/c/sns", "/hooks/c/generic", "/hooks/c/alertmanager", "/hooks/c/slack",
			"/hooks/c/SNS", "/services/c/x", "/hooks/c?category=pwned", "/hooks/c?test=1",
		} {
			for added, value := range map[string]any{
				"Records": []any{map[string]any{"Sns": map[string]any{"Message": "PWNED"}}},
				"title":   "PWNED", "text": "PWNED", "events": []any{map[string]any{"title": "PWNED"}},
				"attachments": []any{map[string]any{"text": "PWNED"}},
				"alerts":      []any{map[string]any{"status": "firing", "labels": map[string]any{"alertname": "PWNED"}}},
				"message":     "PWNED", "UnsubscribeURL": "https://pwned.example", "SubscribeURL": "https://pwned.example",
			} {
				whole := map[string]any{added: value}
				for name, text := range a.signed(t, nil) {
					whole[name] = text
				}
				encoded, err := json.Marshal(whole)
				require.NoError(t, err)
				r := post(path, string(encoded))
				r.Header.Set("Ce-Specversion", "1.0")
				r.Header.Set("Ce-Type", "PWNED")
				r.Header.Set("X-Github-Event", "PWNED")
				intake.events = nil
				status, _, answer := serve(s.Public(), r)
				if path == "/hooks/c" || path == "/hooks/c/sns" || path == "/hooks/c?category=pwned" {
					require.Equal(t, http.StatusAccepted, status, "%s with %s: %s", path, added, answer)
					require.Equal(t, "Disk full", intake.events[0].Title)
					require.Equal(t, "sns", intake.events[0].Source)
					require.Equal(t, "alarms", intake.events[0].Category)
					require.NotContains(t, strings.ToLower(fmt.Sprintf("%+v", intake.events)), "pwned")
					continue
				}
				require.NotEqual(t, http.StatusAccepted, status, "%s with %s", path, added)
				require.NotEqual(t, http.StatusOK, status, "%s with %s", path, added)
				require.Nil(t, intake.events)
				if path == "/hooks/c/generic" {
					require.Contains(t, string(answer), `the path names source \"generic\", and credentials for sns were not tried`)
				}
			}
		}
	}
}

// Amazon delivers a message for an hour; an older one was kept by somebody.
func TestSNSRefusesOldMessages(t *testing.T) {
	t.Parallel()
	a := newAmazon(t, time.Now().Add(time.Hour))
	s, _ := snsServer(a, false)
	const accepted, refused = http.StatusAccepted, http.StatusUnauthorized
	for ago, want := range map[string]int{
		at(0): accepted, at(59 * time.Minute): accepted, at(-59 * time.Minute): accepted, at(61 * time.Minute): refused,
		at(-61 * time.Minute): refused, "2012-04-26T20:45:04.751Z": refused, "yesterday": refused, "": refused,
	} {
		t.Run("timestamp "+ago, func(t *testing.T) {
			status, answer := publish(s, a.signed(t, map[string]string{"Timestamp": ago}))
			require.Equal(t, want, status, answer)
		})
	}
}

// A message that is sent again is a duplicate, even with additional unsigned fields.
func TestSNSReplayIsADuplicate(t *testing.T) {
	t.Parallel()
	a := newAmazon(t, time.Now().Add(time.Hour))
	relay := newRelay(t, server.Options{Transport: a, SNSRoots: a.roots, Channels: []server.Channel{{
		Name: "c", Credentials: []server.Credential{{Name: "aws", Kind: "sns", Topics: []string{topic}}},
	}}})
	m := a.signed(t, nil)
	send := func(path string) string {
		encoded, err := json.Marshal(m)
		require.NoError(t, err)
		return relay.send(path, string(encoded), nil)
	}
	require.Equal(t, "admitted", send("/hooks/c"))
	require.Equal(t, "duplicate", send("/hooks/c"))
	m["title"] = "added"
	require.Equal(t, "duplicate", send("/hooks/c/sns?category=x&title=y"))
	require.Equal(t, "duplicate", send("/hooks/c"))
}
