package configs

import (
	"crypto/tls"
	"crypto/x509"
	"os"
)

// addRedisCertificates adds redis_ca_file and redis_cert_file to how the client for Redis speaks TLS; nil = it does not. The
// client certificate is read for each connection, so that a renewed one is used without a restart.
func (c *Config) addRedisCertificates(config *tls.Config) error {
	switch {
	case config == nil && c.RedisCAFile != "":
		return faultf("redis_ca_file", "needs TLS to Redis; begin redis_url with rediss://, or set redis_tls")
	case config == nil && c.RedisCertFile != "":
		return faultf("redis_cert_file", "needs TLS to Redis; begin redis_url with rediss://, or set redis_tls")
	}
	if c.RedisCAFile != "" {
		authorities, err := os.ReadFile(c.RedisCAFile)
		if err != nil {
			return faultf("redis_ca_file", "cannot be read: %v; name a file that the relay may read", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(authorities) {
			return faultf("redis_ca_file", "%s contains no certificate in PEM", c.RedisCAFile)
		}
	}
	if c.RedisCertFile == "" || c.RedisKeyFile == "" {
		return nil
	}
	read := func() (*tls.Certificate, error) {
		certificate, err := tls.LoadX509KeyPair(c.RedisCertFile, c.RedisKeyFile)
		return &certificate, err
	}
	if _, err := read(); err != nil {
		return faultf("redis_cert_file", "cannot be used with redis_key_file: %v; name a certificate and its key, in PEM", err)
	}
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return read() }
	return nil
}
