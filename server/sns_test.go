package server_test

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
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

// amazon stands in for Amazon SNS: it signs, and answers for its own host.
type amazon struct {
	key         *rsa.PrivateKey
	certificate []byte // PEM

	mu    sync.Mutex
	asked []string
	moved bool // it sends who asks elsewhere
}

func newAmazon(tb testing.TB, until time.Time) *amazon {
	tb.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(tb, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(tb, err)
	return &amazon{key: key, certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// RoundTrip implements [http.RoundTripper].
func (a *amazon) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, r.URL.String())
	answer := a.certificate
	if r.URL.Query().Get("Action") == "ConfirmSubscription" {
		answer = []byte("<ConfirmSubscriptionResponse><SubscriptionArn>arn:x</SubscriptionArn></ConfirmSubscriptionResponse>")
	}
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(answer)), Request: r}
	if a.moved {
		response.StatusCode = http.StatusFound
		response.Header.Set("Location", "http://169.254.169.254/latest/meta-data")
	}
	return response, nil
}

// signed is a message as Amazon sends it; what is "" is not in it.
func (a *amazon) signed(tb testing.TB, fields map[string]string) map[string]string {
	tb.Helper()
	m := map[string]string{
		"Type": "Notification", "MessageId": "165545c9-2a5c-472c-8df2-7ff2be2b3b1b", "TopicArn": topic, "Message": "Disk full", "Timestamp": "2026-11-20T07:00:00.000Z",
		"SignatureVersion": "2", "SigningCertURL": "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem",
	}
	maps.Copy(m, fields)
	maps.DeleteFunc(m, func(name, value string) bool { return name == "Subject" && value == "" })
	names := []string{"Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"}
	if m["Type"] != "Notification" {
		names = []string{"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"}
	}
	text := ""
	for _, name := range names {
		if m[name] != "" {
			text += name + "\n" + m[name] + "\n"
		}
	}
	hashed, algorithm := sha256.Sum256([]byte(text)), crypto.SHA256
	sum := hashed[:]
	if m["SignatureVersion"] == "1" {
		old := sha1.Sum([]byte(text))
		sum, algorithm = old[:], crypto.SHA1
	}
	signature, err := rsa.SignPKCS1v15(rand.Reader, a.key, algorithm, sum)
	require.NoError(tb, err)
	m["Signature"] = base64.StdEncoding.EncodeToString(signature)
	return m
}

func (a *amazon) requests() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked
}

// snsServer takes messages of the topic, and confirms subscriptions where it is told to.
func snsServer(a *amazon, confirm bool) (*server.Server, *taken) {
	intake := &taken{}
	return server.New(server.Options{
		Channels: []server.Channel{{Name: "c", Credentials: []server.Credential{{Name: "aws", Kind: "sns", Topics: []string{topic}, Confirm: confirm}}}},
		Intake:   intake, Transport: a, Logger: slog.New(slog.DiscardHandler),
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

func TestSNSSignatures(t *testing.T) {
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
	require.Len(t, a.requests(), 1, "the certificate is kept")

	for name, change := range map[string]func(m map[string]string){
		"another message":   func(m map[string]string) { m["Message"] = "All is well" },
		"a subject added":   func(m map[string]string) { m["Subject"] = "x" },
		"another time":      func(m map[string]string) { m["Timestamp"] = "2026-11-21T07:00:00.000Z" },
		"another topic":     func(m map[string]string) { m["TopicArn"] += "2" },
		"no signature":      func(m map[string]string) { delete(m, "Signature") },
		"another version":   func(m map[string]string) { m["SignatureVersion"] = "3" },
		"an old version":    func(m map[string]string) { m["SignatureVersion"] = "1" },
		"no certificate":    func(m map[string]string) { delete(m, "SigningCertURL") },
		"names in capitals": func(m map[string]string) { m["MESSAGE"], m["Message"] = m["Message"], "evil" },
	} {
		m := a.signed(t, nil)
		change(m)
		status, answer := publish(s, m)
		require.Equal(t, http.StatusUnauthorized, status, "%s: %s", name, answer)
	}
	foreign := a.signed(t, map[string]string{"TopicArn": "arn:aws:sns:eu-west-1:666:mine"})
	status, _ := publish(s, foreign)
	require.Equal(t, http.StatusUnauthorized, status, "anybody can have a topic, and Amazon signs for him")
}

// Nobody but Amazon is asked for a certificate, whatever a message says.
func TestSNSAsksNobodyElse(t *testing.T) {
	t.Parallel()
	a := newAmazon(t, time.Now().Add(time.Hour))
	s, _ := snsServer(a, true)
	for _, address := range []string{
		"http://sns.eu-west-1.amazonaws.com/x.pem", "https://sns.eu-west-1.amazonaws.com.evil.example/x.pem", "https://evil.example/sns.eu-west-1.amazonaws.com/x.pem",
		"https://sns.eu-west-1.amazonaws.com@evil.example/x.pem", "https://evil@sns.eu-west-1.amazonaws.com/x.pem", "https://sns.eu-west-1.amazonaws.com:8443/x.pem",
		"https://s3.eu-west-1.amazonaws.com/x.pem", "https://sns.eu-west-1.amazonaws.com/x.txt", "https://169.254.169.254/x.pem", "file:///etc/passwd.pem", "://", "",
	} {
		status, _ := publish(s, a.signed(t, map[string]string{"SigningCertURL": address}))
		require.Equal(t, http.StatusUnauthorized, status, address)
	}
	require.Empty(t, a.requests())
	a.moved = true
	status, _ := publish(s, a.signed(t, nil))
	require.Equal(t, http.StatusUnauthorized, status)
	require.Len(t, a.requests(), 1, "it goes nowhere that Amazon sends it to")

	old := newAmazon(t, time.Now().Add(-time.Minute))
	s, _ = snsServer(old, false)
	status, _ = publish(s, old.signed(t, nil))
	require.Equal(t, http.StatusUnauthorized, status, "a certificate of the past")
}

// A subscription is confirmed where that is wanted, by asking Amazon, and nobody else.
func TestSNSConfirmation(t *testing.T) {
	t.Parallel()
	link := "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=" + topic + "&Token=2336412f37"
	confirmation := map[string]string{"Type": "SubscriptionConfirmation", "Token": "2336412f37", "SubscribeURL": link, "Message": "You have chosen to subscribe"}
	for _, confirm := range []bool{false, true} {
		a := newAmazon(t, time.Now().Add(time.Hour))
		s, intake := snsServer(a, confirm)
		status, answer := publish(s, a.signed(t, confirmation))
		require.Equal(t, http.StatusAccepted, status, answer)
		require.Contains(t, intake.events[0].Title, "confirm the subscription")
		require.Equal(t, confirm, strings.Contains(strings.Join(a.requests(), " "), link))
	}
	a := newAmazon(t, time.Now().Add(time.Hour))
	s, _ := snsServer(a, true)
	elsewhere := maps.Clone(confirmation)
	elsewhere["SubscribeURL"] = "https://evil.example/?Action=ConfirmSubscription"
	status, _ := publish(s, a.signed(t, elsewhere))
	require.Equal(t, http.StatusUnauthorized, status)
	require.Len(t, a.requests(), 1, "only for the certificate")
}
