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
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/server"
)

const topic = "arn:aws:sns:eu-west-1:123456789012:alarms"

// amazon stands in for Amazon SNS: it signs, and answers for its own host, and for the authority of its certificate.
type amazon struct {
	key         *rsa.PrivateKey
	certificate []byte         // PEM: that of the key alone, as Amazon has it
	between     []byte         // DER: that of the authority that signed it
	roots       *x509.CertPool // which ends the chain

	mu     sync.Mutex
	asked  []string
	moved  bool // it sends who asks elsewhere
	away   bool
	answer func(path string) (status int, body []byte) // in place of the certificate; nil = that
}

// snsKey is that of all: it takes long to make.
var snsKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// issuing is where the authority's own certificate is, as in Amazon's certificates.
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
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: fmt.Sprint("authority ", serial)}, NotBefore: time.Now().Add(-24 * time.Hour),
			NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
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
	between, betweenKey := authority(2, root, rootKey)
	a.between = between.Raw
	var err error
	a.key, err = snsKey()
	require.NoError(tb, err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IssuingCertificateURL: []string{issuing},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, between, &a.key.PublicKey, betweenKey)
	require.NoError(tb, err)
	a.certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

// selfSigned is the certificate of somebody else, for the same name and key.
func (a *amazon) selfSigned(tb testing.TB) []byte {
	tb.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(4), Subject: pkix.Name{CommonName: "sns.amazonaws.com"}, DNSNames: []string{"sns.amazonaws.com"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IssuingCertificateURL: []string{"http://169.254.169.254/latest.cer"},
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
		status, answer = http.StatusOK, a.between
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

// certURL is where a certificate is.
const certURL = "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-7506a1e35b36ef5a444dd1a8e7cc3ed8.pem"

// at is a time so long ago, as Amazon writes it.
func at(ago time.Duration) string {
	return time.Now().Add(-ago).UTC().Format("2006-01-02T15:04:05.000Z")
}

// signed is a message as Amazon sends it; what is "" is not in it.
func (a *amazon) signed(tb testing.TB, fields map[string]string) map[string]string {
	tb.Helper()
	m := map[string]string{
		"Type": "Notification", "MessageId": "165545c9-2a5c-472c-8df2-7ff2be2b3b1b", "TopicArn": topic, "Message": "Disk full", "Timestamp": at(0),
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

// sign makes a signature over these fields.
func (a *amazon) sign(tb testing.TB, m map[string]string, names []string) string {
	tb.Helper()
	text := ""
	for _, name := range names {
		if _, ok := m[name]; ok {
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
	return base64.StdEncoding.EncodeToString(signature)
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
		Intake:   intake, Transport: a, SNSRoots: a.roots, Logger: slog.New(slog.DiscardHandler),
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
	require.Equal(t, []string{certURL, issuing}, a.requests(), "the certificate is kept")

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
		m := a.signed(t, nil)
		change(m)
		status, answer := publish(s, m)
		require.Equal(t, http.StatusUnauthorized, status, "%s: %s", name, answer)
	}
	foreign := a.signed(t, map[string]string{"TopicArn": "arn:aws:sns:eu-west-1:666:mine"})
	status, _ := publish(s, foreign)
	require.Equal(t, http.StatusUnauthorized, status, "anybody can have a topic, and Amazon signs for him")
}

// Amazon signs what anybody publishes to a topic of his own. A Type or another field that holds lines would make that pass for
// a message of the topic that is listed.
func TestSNSFieldsHaveNoLines(t *testing.T) {
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

// A field that comes twice, or in other letters, is read as it was verified.
func TestSNSFieldsThatComeTwice(t *testing.T) {
	t.Parallel()
	a := newAmazon(t, time.Now().Add(time.Hour))
	s, intake := snsServer(a, false)
	encoded, err := json.Marshal(a.signed(t, nil))
	require.NoError(t, err)
	for _, whole := range []string{
		`{"Message":"PWNED",` + string(encoded[1:]), `{"message":"PWNED","MESSAGE":"PWNED","Messag\u0065":"PWNED",` + string(encoded[1:]),
		string(encoded[:len(encoded)-1]) + `,"MESSAGE":"PWNED","Subject":null}`,
	} {
		status, _, answer := serve(s.Public(), post("/hooks/c", whole))
		require.Equal(t, http.StatusAccepted, status, "%s", answer)
		require.Equal(t, "Disk full", intake.events[0].Title)
		require.NotContains(t, fmt.Sprintf("%+v", intake.events), "PWNED")
	}
	for _, whole := range []string{
		string(encoded[:len(encoded)-1]) + `,"Message":"PWNED"}`, string(encoded[:len(encoded)-1]) + `,"Messag\u0065":"PWNED"}`, string(encoded) + string(encoded),
		string(encoded[:len(encoded)-1]) + `,"Subject":5}`, "[" + string(encoded) + "]", "null", "",
	} {
		status, _, _ := serve(s.Public(), post("/hooks/c", whole))
		require.NotEqual(t, http.StatusAccepted, status, whole)
	}
}

// What is not signed is not read, whatever the path, the headers and the credential's source say.
func TestSNSReadsOnlyWhatIsSigned(t *testing.T) {
	t.Parallel()
	a := newAmazon(t, time.Now().Add(time.Hour))
	for _, source := range []string{"", "sns"} {
		intake := &taken{}
		s := server.New(server.Options{
			Channels: []server.Channel{{Name: "c", Credentials: []server.Credential{{Name: "aws", Kind: "sns", Source: source, Topics: []string{topic}}}}},
			Intake:   intake, Transport: a, SNSRoots: a.roots, Logger: slog.New(slog.DiscardHandler),
		})
		for _, path := range []string{"/hooks/c", "/hooks/c/sns", "/hooks/c/generic", "/hooks/c/alertmanager", "/hooks/c/slack", "/hooks/c/SNS", "/services/c/x", "/hooks/c?category=pwned", "/hooks/c?test=1"} {
			for added, value := range map[string]any{
				"Records": []any{map[string]any{"Sns": map[string]any{"Message": "PWNED"}}},
				"title":   "PWNED", "text": "PWNED", "events": []any{map[string]any{"title": "PWNED"}}, "attachments": []any{map[string]any{"text": "PWNED"}},
				"alerts":  []any{map[string]any{"status": "firing", "labels": map[string]any{"alertname": "PWNED"}}},
				"message": "PWNED", "UnsubscribeURL": "https://pwned.example", "SubscribeURL": "https://pwned.example",
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

// A message that is older than Amazon goes on delivering is one that somebody kept.
func TestSNSMessagesAreRecent(t *testing.T) {
	t.Parallel()
	a := newAmazon(t, time.Now().Add(time.Hour))
	s, _ := snsServer(a, false)
	for ago, ok := range map[string]bool{
		at(0): true, at(59 * time.Minute): true, at(-59 * time.Minute): true, at(61 * time.Minute): false, at(-61 * time.Minute): false,
		"2012-04-26T20:45:04.751Z": false, "yesterday": false, "": false,
	} {
		status, answer := publish(s, a.signed(t, map[string]string{"Timestamp": ago}))
		require.Equal(t, ok, status == http.StatusAccepted, "%s: %s", ago, answer)
	}
}

// The same message that is sent again is a duplicate, also where it was added to.
func TestSNSReplaysAreDuplicates(t *testing.T) {
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

// Nobody but Amazon is asked for a certificate, at the one place where it has them, whatever a message says.
func TestSNSAsksNobodyElse(t *testing.T) {
	t.Parallel()
	a := newAmazon(t, time.Now().Add(time.Hour))
	s, _ := snsServer(a, true)
	file := "SimpleNotificationService-7506a1e35b36ef5a444dd1a8e7cc3ed8.pem"
	good := "https://sns.eu-west-1.amazonaws.com/"
	for _, address := range []string{
		"http://sns.eu-west-1.amazonaws.com/" + file, "https://sns.eu-west-1.amazonaws.com.evil.example/" + file, "https://evil.example/sns.eu-west-1.amazonaws.com/" + file,
		"https://sns.eu-west-1.amazonaws.com@evil.example/" + file, "https://evil@sns.eu-west-1.amazonaws.com/" + file, "https://sns.eu-west-1.amazonaws.com:8443/" + file,
		"https://sns.eu-west-1.amazonaws.com:443/" + file, "https://sns.eu-west-1.amazonaws.com./" + file, "https://SNS.eu-west-1.amazonaws.com/" + file,
		"https://s3.eu-west-1.amazonaws.com/" + file, "https://sns.s3-us-west-2.amazonaws.com/" + file, "https://sns.s3-accelerate.amazonaws.com/" + file,
		"https://sns.s3-external-1.amazonaws.com/" + file, "https://sns.us-east-1.amazonaws.com/" + file, "https://sns.eu-west-1.amazonaws.com.cn/" + file,
		good + file + "?Action=GetEndpointAttributes", good + file + "?", good + file + "#frag", good + "x/../" + file, good + "%2e%2e/" + file, good + "/" + file,
		good + "x.pem?Action=GetEndpointAttributes&EndpointArn=x", good + "x.pem", good + "SimpleNotificationService.pem", good + strings.ToUpper(file),
		good + "SimpleNotificationService-7506A1E35B36EF5A444DD1A8E7CC3ED8.pem", good + file + ";y=.pem", good + file + "\n", good + file + " ", "\t" + good + file,
		good + "SimpleNotificationService-7506a1e35b36ef5a444dd1a8e7cc3ed8.txt", "https://169.254.169.254/" + file, "file:///etc/passwd.pem", "://", "",
	} {
		status, _ := publish(s, a.signed(t, map[string]string{"SigningCertURL": address}))
		require.Equal(t, http.StatusUnauthorized, status, address)
	}
	require.Empty(t, a.requests())
	a.moved = true
	status, _ := publish(s, a.signed(t, nil))
	require.Equal(t, http.StatusUnauthorized, status)
	require.Len(t, a.requests(), 1, "it goes nowhere that Amazon sends it to")
}

// What is answered must be the certificate of Amazon SNS, whole and alone.
func TestSNSCertificates(t *testing.T) {
	t.Parallel()
	a := newAmazon(t, time.Now().Add(time.Hour))
	other := newAmazon(t, time.Now().Add(time.Hour))
	hidden := append([]byte("<GetEndpointAttributesResponse><CustomUserData>\n"), a.certificate...)
	for name, answer := range map[string][]byte{
		"signed by itself":            a.selfSigned(t),
		"in another answer":           append(hidden, "</CustomUserData>"...),
		"something behind it":         append(bytes.Clone(a.certificate), "<xml/>"...),
		"another block":               append(bytes.Clone(a.certificate), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})...),
		"hidden behind a broken one":  append([]byte("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"), a.certificate...),
		"of another authority":        other.certificate,
		"too long":                    append(bytes.Clone(a.certificate), bytes.Repeat([]byte("\n"), 70_000)...),
		"no certificate":              []byte("nonsense"),
		"nothing":                     nil,
		"not of SNS":                  newAmazonNamed(t, time.Now().Add(time.Hour), "www.evil.example").certificate,
		"a wildcard of somebody else": newAmazonNamed(t, time.Now().Add(time.Hour), "*.evil.example").certificate,
	} {
		a.answer = func(string) (int, []byte) { return http.StatusOK, answer }
		s, _ := snsServer(a, false)
		status, said := publish(s, a.signed(t, nil))
		require.Equal(t, http.StatusUnauthorized, status, "%s: %s", name, said)
	}
	require.NotContains(t, strings.Join(a.requests(), " "), "169.254", "only Amazon's authorities are asked")

	for _, name := range []string{"s3.amazonaws.com", "sns.us-east-1.amazonaws.com", "sns-signing.us-east-1.amazonaws.com"} {
		named := newAmazonNamed(t, time.Now().Add(time.Hour), name)
		s, _ := snsServer(named, false)
		status, _ := publish(s, named.signed(t, nil))
		require.Equal(t, http.StatusUnauthorized, status, name)
	}
	regional := newAmazonNamed(t, time.Now().Add(time.Hour), "sns-signing.eu-west-1.amazonaws.com")
	s, _ := snsServer(regional, false)
	status, answer := publish(s, regional.signed(t, nil))
	require.Equal(t, http.StatusAccepted, status, answer)

	old := newAmazon(t, time.Now().Add(-time.Minute))
	s, _ = snsServer(old, false)
	status, _ = publish(s, old.signed(t, nil))
	require.Equal(t, http.StatusUnauthorized, status, "a certificate of the past")
}

// China has a domain of its own, and so have its certificates.
func TestSNSInChina(t *testing.T) {
	t.Parallel()
	a := newAmazonNamed(t, time.Now().Add(time.Hour), "sns-cn-north-1.amazonaws.com.cn")
	arn := "arn:aws-cn:sns:cn-north-1:123456789012:alarms"
	s := server.New(server.Options{
		Channels: []server.Channel{{Name: "c", Credentials: []server.Credential{{Name: "aws", Kind: "sns", Topics: []string{arn}}}}},
		Intake:   &taken{}, Transport: a, SNSRoots: a.roots, Logger: slog.New(slog.DiscardHandler),
	})
	file := "/SimpleNotificationService-7506a1e35b36ef5a444dd1a8e7cc3ed8.pem"
	status, answer := publish(s, a.signed(t, map[string]string{"TopicArn": arn, "SigningCertURL": "https://sns.cn-north-1.amazonaws.com.cn" + file}))
	require.Equal(t, http.StatusAccepted, status, answer)
	status, _ = publish(s, a.signed(t, map[string]string{"TopicArn": arn, "SigningCertURL": "https://sns.cn-north-1.amazonaws.com" + file}))
	require.Equal(t, http.StatusUnauthorized, status)
}

// Anybody can send a message that names a certificate. What the relay asks for it is bounded, and so is what it asks again.
func TestSNSAsksLittle(t *testing.T) {
	t.Parallel()
	a := newAmazon(t, time.Now().Add(time.Hour))
	a.answer = func(string) (int, []byte) { return http.StatusNotFound, nil }
	s, _ := snsServer(a, false)
	for range 100 {
		status, _ := publish(s, a.signed(t, nil))
		require.Equal(t, http.StatusUnauthorized, status)
	}
	require.Len(t, a.requests(), 1, "what was refused is not asked again")

	a.asked = nil
	var all sync.WaitGroup
	for i := range 200 {
		m := a.signed(t, map[string]string{"SigningCertURL": fmt.Sprintf("https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-%032x.pem", i/2)})
		all.Go(func() { publish(s, m) })
	}
	all.Wait()
	require.Less(t, len(a.requests()), 40, "a burst, and one a second")

	a.answer, a.away = nil, true
	s, _ = snsServer(a, false)
	status, _ := publish(s, a.signed(t, nil))
	require.Equal(t, http.StatusServiceUnavailable, status, "Amazon sends it again")
}

// A certificate that could not be had is asked for again after a while.
func TestSNSAsksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAmazon(t, time.Now().Add(time.Hour))
		s, _ := snsServer(a, false)
		a.away = true
		status, _ := publish(s, a.signed(t, nil))
		require.Equal(t, http.StatusServiceUnavailable, status)
		a.away = false
		status, _ = publish(s, a.signed(t, nil))
		require.Equal(t, http.StatusServiceUnavailable, status, "not at once")
		time.Sleep(5 * time.Second)
		status, answer := publish(s, a.signed(t, nil))
		require.Equal(t, http.StatusAccepted, status, answer)
	})
}

// A subscription is confirmed where that is wanted, by asking Amazon, and nobody else.
func TestSNSConfirmation(t *testing.T) {
	t.Parallel()
	link := "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=" + topic + "&Token=2336412f37"
	confirmation := map[string]string{"Type": "SubscriptionConfirmation", "Token": "2336412f37", "SubscribeURL": link, "Message": "You have chosen to subscribe"}
	for _, confirm := range []bool{false, true} {
		a := newAmazon(t, time.Now().Add(time.Hour))
		s, intake := snsServer(a, confirm)
		for range 3 {
			status, answer := publish(s, a.signed(t, confirmation))
			require.Equal(t, http.StatusAccepted, status, answer)
			require.Contains(t, intake.events[0].Title, "confirm the subscription")
		}
		require.Equal(t, confirm, strings.Count(strings.Join(a.requests(), " "), link) == 1, "once")
	}
	for _, elsewhere := range []string{
		"https://evil.example/?Action=ConfirmSubscription", strings.Replace(link, "eu-west-1.amazonaws", "us-east-1.amazonaws", 1), strings.Replace(link, "https", "http", 1),
		strings.Replace(link, "ConfirmSubscription", "Publish", 1), strings.Replace(link, "2336412f37", "other", 1), link + "2", link + "&Message=x", link + "#x",
		strings.Replace(link, "/?", "/x?", 1), strings.Replace(link, topic, topic+"2", 1), strings.Replace(link, ".com/", ".com:443/", 1),
	} {
		a := newAmazon(t, time.Now().Add(time.Hour))
		s, _ := snsServer(a, true)
		changed := maps.Clone(confirmation)
		changed["SubscribeURL"] = elsewhere
		status, _ := publish(s, a.signed(t, changed))
		require.Equal(t, http.StatusUnauthorized, status, elsewhere)
		require.Equal(t, []string{certURL, issuing}, a.requests(), "only for the certificate")
	}
}
