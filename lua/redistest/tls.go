package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// StartTLS starts a server that accepts only TLS, with a self-signed certificate, and returns the file of that certificate
// too.
func StartTLS(tb testing.TB, args ...string) (s *Server, certificate string) {
	tb.Helper()
	certificate, key := selfSigned(tb)
	s = Reserve(tb, append([]string{
		"--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", certificate, "--tls-auth-clients", "no",
	}, args...)...)
	s.tls = true
	s.URL = "rediss://" + s.Addr
	s.Up()
	return s, certificate
}

func selfSigned(tb testing.TB) (certificate, key string) {
	tb.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatalf("make a key: %v", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redis"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		tb.Fatalf("make a certificate: %v", err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		tb.Fatalf("encode the key: %v", err)
	}
	dir := tb.TempDir()
	certificate, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{
		certificate: {Type: "CERTIFICATE", Bytes: signed}, key: {Type: "EC PRIVATE KEY", Bytes: encoded},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			tb.Fatalf("write %s: %v", file, err)
		}
	}
	return certificate, key
}
