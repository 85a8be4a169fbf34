package server_test

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"slackrelay/server"
)

// A certificate is fetched only from the one place where Amazon SNS publishes them.
func TestSNSSendsRequestsToAmazonOnly(t *testing.T) {
	t.Parallel()
	a := newAmazon(t, time.Now().Add(time.Hour))
	s, _ := snsServer(a, true)
	file := "SimpleNotificationService-7506a1e35b36ef5a444dd1a8e7cc3ed8.pem"
	good := "https://sns.eu-west-1.amazonaws.com/"
	for _, address := range []string{
		"http://sns.eu-west-1.amazonaws.com/" + file, "https://sns.eu-west-1.amazonaws.com.evil.example/" + file,
		"https://evil.example/sns.eu-west-1.amazonaws.com/" + file,
		"https://sns.eu-west-1.amazonaws.com@evil.example/" + file, "https://evil@sns.eu-west-1.amazonaws.com/" + file,
		"https://sns.eu-west-1.amazonaws.com:8443/" + file,
		"https://sns.eu-west-1.amazonaws.com:443/" + file, "https://sns.eu-west-1.amazonaws.com./" + file,
		"https://SNS.eu-west-1.amazonaws.com/" + file,
		"https://s3.eu-west-1.amazonaws.com/" + file, "https://sns.s3-us-west-2.amazonaws.com/" + file,
		"https://sns.s3-accelerate.amazonaws.com/" + file,
		"https://sns.s3-external-1.amazonaws.com/" + file, "https://sns.us-east-1.amazonaws.com/" + file,
		"https://sns.eu-west-1.amazonaws.com.cn/" + file,
		good + file + "?Action=GetEndpointAttributes", good + file + "?", good + file + "#frag", good + "x/../" + file,
		good + "%2e%2e/" + file, good + "/" + file,
		good + "x.pem?Action=GetEndpointAttributes&EndpointArn=x", good + "x.pem", good + "SimpleNotificationService.pem",
		good + strings.ToUpper(file),
		good + "SimpleNotificationService-7506A1E35B36EF5A444DD1A8E7CC3ED8.pem", good + file + ";y=.pem", good + file + "\n",
		good + file + " ", "\t" + good + file,
		good + "SimpleNotificationService-7506a1e35b36ef5a444dd1a8e7cc3ed8.txt", "https://169.254.169.254/" + file,
		"file:///etc/passwd.pem", "://", "",
	} {
		t.Run(address, func(t *testing.T) {
			status, _ := publish(s, a.signed(t, map[string]string{"SigningCertURL": address}))
			require.Equal(t, http.StatusUnauthorized, status, address)
		})
	}
	require.Empty(t, a.requests())
	a.moved = true
	status, _ := publish(s, a.signed(t, nil))
	require.Equal(t, http.StatusUnauthorized, status)
	require.Len(t, a.requests(), 1, "redirects are not followed")
}

// The file must be the certificate of Amazon SNS, complete and without anything else.
func TestSNSVerifiesTheCertificate(t *testing.T) {
	t.Parallel()
	a := newAmazon(t, time.Now().Add(time.Hour))
	other := newAmazon(t, time.Now().Add(time.Hour))
	nested := append([]byte("<GetEndpointAttributesResponse><CustomUserData>\n"), a.certificate...)
	for name, answer := range map[string][]byte{
		"signed by itself":    a.selfSigned(t),
		"in another answer":   append(nested, "</CustomUserData>"...),
		"something behind it": append(bytes.Clone(a.certificate), "<xml/>"...),
		"another block": append(bytes.Clone(a.certificate),
			pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})...),
		"hidden behind a broken one":  append([]byte("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"), a.certificate...),
		"of another authority":        other.certificate,
		"too long":                    append(bytes.Clone(a.certificate), bytes.Repeat([]byte("\n"), 70_000)...),
		"no certificate":              []byte("nonsense"),
		"nothing":                     nil,
		"not of SNS":                  newAmazonNamed(t, time.Now().Add(time.Hour), "www.evil.example").certificate,
		"a wildcard of somebody else": newAmazonNamed(t, time.Now().Add(time.Hour), "*.evil.example").certificate,
	} {
		t.Run(name, func(t *testing.T) {
			a.answer = func(string) (int, []byte) { return http.StatusOK, answer }
			s, _ := snsServer(a, false)
			status, reply := publish(s, a.signed(t, nil))
			require.Equal(t, http.StatusUnauthorized, status, "%s: %s", name, reply)
		})
	}
	require.NotContains(t, strings.Join(a.requests(), " "), "169.254", "only Amazon's authorities get requests")

	for _, name := range []string{"s3.amazonaws.com", "sns.us-east-1.amazonaws.com", "sns-signing.us-east-1.amazonaws.com"} {
		t.Run(name, func(t *testing.T) {
			named := newAmazonNamed(t, time.Now().Add(time.Hour), name)
			s, _ := snsServer(named, false)
			status, _ := publish(s, named.signed(t, nil))
			require.Equal(t, http.StatusUnauthorized, status, name)
		})
	}
	regional := newAmazonNamed(t, time.Now().Add(time.Hour), "sns-signing.eu-west-1.amazonaws.com")
	s, _ := snsServer(regional, false)
	status, answer := publish(s, regional.signed(t, nil))
	require.Equal(t, http.StatusAccepted, status, answer)

	old := newAmazon(t, time.Now().Add(-time.Minute))
	s, _ = snsServer(old, false)
	status, _ = publish(s, old.signed(t, nil))
	require.Equal(t, http.StatusUnauthorized, status, "the certificate is expired")
}

// The regions of China have a domain of their own, and so do their certificates.
func TestSNSUsesTheDomainOfChina(t *testing.T) {
	t.Parallel()
	a := newAmazonNamed(t, time.Now().Add(time.Hour), "sns-cn-north-1.amazonaws.com.cn")
	arn := "arn:aws-cn:sns:cn-north-1:123456789012:alarms"
	s := server.New(server.Options{
		Channels: []server.Channel{{Name: "c", Credentials: []server.Credential{{Name: "aws", Kind: "sns", Topics: []string{arn}}}}},
		Intake:   &stubIntake{}, Transport: a, SNSRoots: a.roots, Logger: slog.New(slog.DiscardHandler),
	})
	file := "/SimpleNotificationService-7506a1e35b36ef5a444dd1a8e7cc3ed8.pem"
	status, answer := publish(s, a.signed(t,
		map[string]string{"TopicArn": arn, "SigningCertURL": "https://sns.cn-north-1.amazonaws.com.cn" + file}))
	require.Equal(t, http.StatusAccepted, status, answer)
	status, _ = publish(s, a.signed(t, map[string]string{"TopicArn": arn, "SigningCertURL": "https://sns.cn-north-1.amazonaws.com" + file}))
	require.Equal(t, http.StatusUnauthorized, status)
}

// Anybody can send a message that names a certificate, so the requests for certificates and their retries are bounded.
func TestSNSBoundsItsRequests(t *testing.T) {
	t.Parallel()
	a := newAmazon(t, time.Now().Add(time.Hour))
	a.answer = func(string) (int, []byte) { return http.StatusNotFound, nil }
	s, _ := snsServer(a, false)
	for range 100 {
		status, _ := publish(s, a.signed(t, nil))
		require.Equal(t, http.StatusUnauthorized, status)
	}
	require.Len(t, a.requests(), 1, "a refused request is not repeated")

	a.asked = nil
	var all sync.WaitGroup
	for i := range 200 {
		certificate := fmt.Sprintf("https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-%032x.pem", i/2)
		m := a.signed(t, map[string]string{"SigningCertURL": certificate})
		all.Go(func() { publish(s, m) })
	}
	all.Wait()
	require.Less(t, len(a.requests()), 40, "a burst, and one a second")

	a.answer, a.away = nil, true
	s, _ = snsServer(a, false)
	status, _ := publish(s, a.signed(t, nil))
	require.Equal(t, http.StatusServiceUnavailable, status, "so that Amazon retries")
}

// After an outage of Amazon, a certificate is fetched again.
func TestSNSRetriesAfterAnOutage(t *testing.T) {
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

// A subscription is confirmed if that is configured, at Amazon and nowhere else.
func TestSNSConfirmsOnlyAmazonsLink(t *testing.T) {
	t.Parallel()
	link := "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=" + topic + "&Token=2336412f37"
	confirmation := map[string]string{
		"Type": "SubscriptionConfirmation", "Token": "2336412f37", "SubscribeURL": link,
		"Message": "You have chosen to subscribe",
	}
	for _, confirm := range []bool{false, true} {
		t.Run(fmt.Sprint("confirm ", confirm), func(t *testing.T) {
			a := newAmazon(t, time.Now().Add(time.Hour))
			s, intake := snsServer(a, confirm)
			for range 3 {
				status, answer := publish(s, a.signed(t, confirmation))
				require.Equal(t, http.StatusAccepted, status, answer)
				require.Contains(t, intake.events[0].Title, "confirm the subscription")
			}
			want := map[bool]int{true: 1}[confirm]
			require.Equal(t, want, strings.Count(strings.Join(a.requests(), " "), link))
		})
	}
	for _, elsewhere := range []string{
		"https://evil.example/?Action=ConfirmSubscription", strings.Replace(link, "eu-west-1.amazonaws", "us-east-1.amazonaws", 1),
		strings.Replace(link, "https", "http", 1),
		strings.Replace(link, "ConfirmSubscription", "Publish", 1), strings.Replace(link, "2336412f37", "other", 1), link + "2",
		link + "&Message=x", link + "#x",
		strings.Replace(link, "/?", "/x?", 1), strings.Replace(link, topic, topic+"2", 1), strings.Replace(link, ".com/", ".com:443/", 1),
	} {
		t.Run(elsewhere, func(t *testing.T) {
			a := newAmazon(t, time.Now().Add(time.Hour))
			s, _ := snsServer(a, true)
			changed := maps.Clone(confirmation)
			changed["SubscribeURL"] = elsewhere
			status, _ := publish(s, a.signed(t, changed))
			require.Equal(t, http.StatusUnauthorized, status, elsewhere)
			require.Equal(t, []string{certURL, issuing}, a.requests(), "only the certificate is fetched")
		})
	}
}
