package server

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // signature version 1 of Amazon SNS uses it
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// sns verifies the messages of Amazon SNS
// (https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html). It sends requests to
// nobody but Amazon, whatever a message contains.
type sns struct {
	certificates *snsCertificates
	log          *slog.Logger
}

// snsTolerance is how far the time of a message may differ from now. Amazon tries to deliver a message for an hour.
const snsTolerance = time.Hour

// The types of messages that Amazon SNS sends.
const (
	snsNotification = "Notification"
	snsSubscribe    = "SubscriptionConfirmation"
	snsUnsubscribe  = "UnsubscribeConfirmation"
)

// snsSigned are the signed fields of each type, in the order in which they are signed.
var snsSigned = map[string][]string{
	snsNotification: {"Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"},
	snsSubscribe:    {"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"},
	snsUnsubscribe:  {"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"},
}

func newSNS(transport http.RoundTripper, roots *x509.CertPool, log *slog.Logger) *sns {
	return &sns{certificates: newSNSCertificates(transport, roots), log: log}
}

// snsMessage is the envelope of a message, with the fields that the relay knows. The others are not kept, because the sender is
// not authenticated yet.
type snsMessage map[string]string

// snsEnvelope is the JSON of a message. Names are case-sensitive; a field that is missing or null is nil.
type snsEnvelope struct {
	Type, Message, Subject, Timestamp, Token, Signature, SignatureVersion *string

	MessageID      *string `json:"MessageId"`
	TopicARN       *string `json:"TopicArn"`
	SubscribeURL   *string `json:"SubscribeURL"`
	SigningCertURL *string `json:"SigningCertURL"`
}

func readSNS(wire []byte) (snsMessage, bool) {
	var e snsEnvelope
	if json.Unmarshal(wire, &e, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
		return nil, false
	}
	m := snsMessage{}
	for name, value := range map[string]*string{
		"Type": e.Type, "Message": e.Message, "Subject": e.Subject, "Timestamp": e.Timestamp, "Token": e.Token,
		"Signature": e.Signature, "SignatureVersion": e.SignatureVersion, "MessageId": e.MessageID, "TopicArn": e.TopicARN,
		"SubscribeURL": e.SubscribeURL, "SigningCertURL": e.SigningCertURL,
	} {
		if value != nil {
			m[name] = *value
		}
	}
	return m, true
}

// verifier returns the check of a credential: a message of one of its topics, signed by Amazon.
func (n *sns) verifier(c Credential) verifier {
	return func(in *ingestRequest) (proof, error) {
		m, ok := readSNS(in.body.wire)
		if !ok || !slices.Contains(c.Topics, m["TopicArn"]) {
			return proof{}, errRefused
		}
		ctx := in.r.Context()
		signed, err := n.verify(ctx, m, in.now)
		if err == nil && c.Confirm && signed["Type"] == snsSubscribe {
			err = n.confirm(ctx, signed, in.now)
		}
		if err != nil {
			n.log.WarnContext(ctx, "amazon sns message refused", "credential", c.Name, "error", err)
			return proof{}, err
		}
		body, err := json.Marshal(signed)
		if err != nil {
			return proof{}, fmt.Errorf("encode the signed fields: %w", err)
		}
		return proof{signed: signed["MessageId"], body: body}, nil
	}
}

// signed returns the signed fields and the signed text: names and values, each on a line of its own. A value with a line break could
// imitate other fields, so only Message, which comes first, may contain one.
func (m snsMessage) signed() (fields map[string]string, text string, err error) {
	names, known := snsSigned[m["Type"]]
	if !known {
		return nil, "", errors.New("its Type is not a message type of Amazon SNS")
	}
	fields = map[string]string{}
	var b strings.Builder
	for _, name := range names {
		value, ok := m[name]
		if !ok && name == "Subject" {
			continue
		}
		if !ok || value == "" && name != "Subject" {
			return nil, "", fmt.Errorf("it has no %s", name)
		}
		if name != "Message" && strings.ContainsFunc(value, isControl) {
			return nil, "", fmt.Errorf("its %s contains a control character", name)
		}
		fields[name] = value
		b.WriteString(name + "\n" + value + "\n")
	}
	return fields, b.String(), nil
}

func isControl(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029'
}

// verify returns the signed fields of a message, if Amazon signed it recently.
func (n *sns) verify(ctx context.Context, m snsMessage, now time.Time) (map[string]string, error) {
	fields, text, err := m.signed()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	stamp, err := time.Parse(time.RFC3339, fields["Timestamp"])
	if err != nil || now.Sub(stamp).Abs() > snsTolerance {
		return nil, fmt.Errorf("%w: its Timestamp is more than %s from now", errRefused, snsTolerance)
	}
	signature, err := base64.StdEncoding.DecodeString(m["Signature"])
	if err != nil {
		return nil, fmt.Errorf("%w: its Signature is not valid base64", errRefused)
	}
	key, err := n.certificates.key(ctx, snsRegion(fields["TopicArn"]), m["SigningCertURL"], now)
	if err != nil {
		return nil, err
	}
	if err := verifySNS(key, m["SignatureVersion"], text, signature); err != nil {
		return nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	return fields, nil
}

func verifySNS(key *rsa.PublicKey, version, text string, signature []byte) (err error) {
	switch version {
	case "1":
		sum := sha1.Sum([]byte(text)) //nolint:gosec // as Amazon signs it
		err = rsa.VerifyPKCS1v15(key, crypto.SHA1, sum[:], signature)
	case "2":
		sum := sha256.Sum256([]byte(text))
		err = rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature)
	default:
		return errors.New("its SignatureVersion is neither 1 nor 2")
	}
	if err != nil {
		return errors.New("its Signature does not match")
	}
	return nil
}

// confirm opens the link that confirms a subscription, once. It opens no link but Amazon's for the signed topic and token.
func (n *sns) confirm(ctx context.Context, signed map[string]string, now time.Time) error {
	link := signed["SubscribeURL"]
	query, ok := strings.CutPrefix(link, "https://"+snsHost(snsRegion(signed["TopicArn"]))+"/?")
	values, err := url.ParseQuery(query)
	if !ok || err != nil || strings.Contains(query, "#") || len(values) != 3 ||
		values.Get("Action") != "ConfirmSubscription" || values.Get("TopicArn") != signed["TopicArn"] || values.Get("Token") != signed["Token"] {
		return fmt.Errorf("%w: its SubscribeURL is not Amazon's link for the topic", errRefused)
	}
	if _, confirmed := n.certificates.find(link, now); confirmed {
		return nil
	}
	answer, err := n.certificates.get(ctx, link)
	switch {
	case err != nil:
		return err
	case !bytes.Contains(answer, []byte("SubscriptionArn")):
		return fmt.Errorf("%w: Amazon did not confirm the subscription", errRefused)
	}
	n.certificates.store(link, snsCertificate{until: now.Add(2 * snsTolerance)})
	return nil
}

var snsTopic = regexp.MustCompile(`^arn:aws[a-z-]*:sns:([a-z]{2}(?:-[a-z]{2,12}){1,3}-[0-9]{1,2}):[0-9]+:[A-Za-z0-9_.-]+$`)

// snsRegion returns the region of a topic; "" = the ARN is not valid.
func snsRegion(arn string) string {
	if found := snsTopic.FindStringSubmatch(arn); found != nil {
		return found[1]
	}
	return ""
}

// snsHost returns the host of Amazon SNS in a region.
func snsHost(region string) string {
	return "sns." + region + snsDomain(region)
}

func snsDomain(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return ".amazonaws.com.cn"
	}
	return ".amazonaws.com"
}

// snsNames returns the names that the certificate of a region may have; one is enough.
func snsNames(region string) []string {
	names := []string{"sns" + snsDomain(region), "sns-signing." + region + snsDomain(region), "sns-" + region + snsDomain(region)}
	if strings.HasPrefix(region, "us-gov-") { // us-gov-west-1 signs for all
		names = append(names, "sns-us-gov-west-1.amazonaws.com")
	}
	return names
}
