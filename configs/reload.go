package configs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Path is the file that is read; "" = none.
func (f Flags) Path() string { return cmp.Or(f.File, os.Getenv(prefix+"CONFIG")) }

// Hash stands for all settings but the secrets: replicas with the same configuration have the same.
func (c *Config) Hash() string {
	text, err := yaml.Marshal(c)
	if err != nil {
		return "" // what was read from YAML can be written
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// Files are the files that settings name: secrets and certificates.
func (c *Config) Files() []string {
	files := []string{c.TLSCertFile, c.TLSKeyFile, c.TLSClientCAFile}
	secrets := c.secrets()
	for i := range c.Channels {
		secrets = append(secrets, c.Channels[i].secrets()...)
		for n := range c.Channels[i].Auth {
			secrets = append(secrets, c.Channels[i].Auth[n].secrets()...)
		}
	}
	for _, s := range secrets {
		files = append(files, *s.file)
	}
	slices.Sort(files)
	return slices.DeleteFunc(slices.Compact(files), func(name string) bool { return name == "" })
}

// restart are the settings of what lives as long as the process.
var restart = []string{
	"listen", "ops_listen", "redis_url", "redis_url_file", "redis_addrs", "redis_master_name", "redis_cluster", "redis_tls", "redis_username",
	"redis_password", "redis_password_file", "redis_wait_replicas", "redis_timeout", "replicas", "dedupe", "lease", "dead_letters", "read_timeout", "log_level", "log_format",
	"log_burst", "otlp_endpoint", "otlp_headers", "otlp_headers_file", "trace_ratio",
}

// KeepWhatNeedsRestart sets the settings of what lives as long as the process to what it was started with, and names those
// that differed.
func (c *Config) KeepWhatNeedsRestart(started Config) []string {
	var names []string
	now, then := reflect.ValueOf(c).Elem(), reflect.ValueOf(started)
	for i := range now.NumField() {
		name, _, _ := strings.Cut(now.Type().Field(i).Tag.Get("yaml"), ",")
		if slices.Contains(restart, name) && !reflect.DeepEqual(now.Field(i).Interface(), then.Field(i).Interface()) {
			names = append(names, name)
			now.Field(i).Set(then.Field(i))
		}
	}
	if (c.TLSCertFile == "") != (started.TLSCertFile == "") {
		names = append(names, "tls_cert_file")
		c.TLSCertFile, c.TLSKeyFile, c.TLSClientCAFile = started.TLSCertFile, started.TLSKeyFile, started.TLSClientCAFile
	}
	return names
}
