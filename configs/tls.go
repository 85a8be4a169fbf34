package configs

import (
	"crypto/tls"
	"crypto/x509"
	"os"
)

// TLS returns how the public listener speaks TLS; nil = it does not. Each call reads the files again.
func (c *Config) TLS() (*tls.Config, error) {
	if c.TLSCertFile == "" {
		return nil, nil //nolint:nilnil // documented: there is none
	}
	certificate, err := tls.LoadX509KeyPair(c.TLSCertFile, c.TLSKeyFile)
	if err != nil {
		return nil, faultf("tls_cert_file", "cannot be used with tls_key_file: %v; name a certificate and its key, in PEM", err)
	}
	config := &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{certificate},
		NextProtos:   []string{"h2", "http/1.1"},
	}
	if c.TLSClientCAFile == "" {
		return config, nil
	}
	authorities, err := os.ReadFile(c.TLSClientCAFile)
	if err != nil {
		return nil, faultf("tls_client_ca_file", "cannot be read: %v; name a file that the relay may read", err)
	}
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(authorities) {
		return nil, faultf("tls_client_ca_file", "%s contains no certificate in PEM", c.TLSClientCAFile)
	}
	config.ClientAuth = tls.VerifyClientCertIfGiven // a channel may accept a token instead
	return config, nil
}
