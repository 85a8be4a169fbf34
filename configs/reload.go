package configs

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"slices"
)

// Hash identifies all settings but the secrets: replicas with the same configuration have the same hash.
func (c *Config) Hash() string {
	sum := sha256.New()
	if err := c.WriteYAML(sum, 4); err != nil {
		return "" // what was read from YAML can be written
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}

// Files lists the files that settings name: secrets and certificates.
func (c *Config) Files() []string {
	files := []string{c.TLSCertFile, c.TLSKeyFile, c.TLSClientCAFile}
	for _, secret := range c.secrets() {
		files = append(files, *secret.file)
	}
	slices.Sort(files)
	return slices.DeleteFunc(slices.Compact(files), func(name string) bool { return name == "" })
}

// KeepWhatNeedsRestart resets the settings that a running relay cannot change to what it was started with, and returns the
// names of those that differed. TLS can be changed but not turned on or off.
func (c *Config) KeepWhatNeedsRestart(started Config) []string {
	var names []string
	now := reflect.ValueOf(c).Elem()
	then := reflect.ValueOf(started)
	for _, s := range settingsOf(now.Type()) {
		if s.needsRestart() && !reflect.DeepEqual(now.Field(s.index).Interface(), then.Field(s.index).Interface()) {
			names = append(names, s.name)
			now.Field(s.index).Set(then.Field(s.index))
		}
	}
	if (c.TLSCertFile == "") != (started.TLSCertFile == "") {
		names = append(names, "tls_cert_file")
		c.TLSCertFile = started.TLSCertFile
		c.TLSKeyFile = started.TLSKeyFile
		c.TLSClientCAFile = started.TLSClientCAFile
	}
	return names
}
