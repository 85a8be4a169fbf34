package configs_test

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/configs"
)

func TestRedisOptionsFollowTheTopology(t *testing.T) {
	cfg := good(t, "", "RELAY_REDIS_ADDRS=s1:26379,s2:26379", "RELAY_REDIS_MASTER_NAME=m", "RELAY_REDIS_PASSWORD=pw", "RELAY_REDIS_TLS=true")
	opts, err := cfg.Redis()
	require.NoError(t, err)
	require.Equal(t, []string{"s1:26379", "s2:26379"}, opts.Addrs)
	require.Equal(t, "m", opts.MasterName)
	require.Equal(t, "pw", opts.Password)
	require.NotNil(t, opts.TLSConfig)
	require.Equal(t, -1, opts.MaxRetries)
	cfg = good(t, "", "RELAY_REDIS_URL=rediss://u:p@host:1/2", "RELAY_REDIS_PASSWORD=wins")
	opts, err = cfg.Redis()
	require.NoError(t, err)
	require.Equal(t, []string{"host:1"}, opts.Addrs)
	require.Equal(t, 2, opts.DB)
	require.Equal(t, "u", opts.Username)
	require.Equal(t, "wins", opts.Password)
	require.NotNil(t, opts.TLSConfig)
	bad(t, "redis_url: redis://x\nredis_addrs: [a:1, b:1]\nreplicas: -1\nredis_wait_replicas: -1\nredis_timeout: 0s\n", nil,
		"redis_addrs: cannot be combined with redis_url", "redis_addrs: lists several servers", "replicas: -1 is out of range",
		"redis_wait_replicas: -1 is out of range", "redis_timeout: 0s is out of range", "channels: is missing")
	bad(t, "redis_cluster: true", nil, "redis_addrs: is empty; redis_cluster", "channels: is missing")
	bad(t, "redis_addrs: [nonsense]\nredis_cluster: true\nredis_master_name: m\n", nil,
		"redis_addrs[0]: \"nonsense\" is not an address", "redis_master_name: cannot be combined with redis_cluster", "channels: is missing")
}

func TestRedisClientNeverRetries(t *testing.T) {
	cfg := configs.Config{RedisURL: "rediss://user:pw@host:6380/2"}
	opts, err := cfg.Redis()
	require.NoError(t, err)
	require.Equal(t, -1, opts.MaxRetries, "a retry would count refusals twice")
	require.True(t, opts.ContextTimeoutEnabled)
	require.NotNil(t, opts.TLSConfig)
}

func TestAddressOfRedisContainsNoCredentials(t *testing.T) {
	for text, want := range map[string]string{
		"redis://127.0.0.1:6379/3":                  "redis://127.0.0.1:6379/3",
		"rediss://user:secret@host":                 "rediss://host:6379/0",
		"redis://:secret@[::1]:1/2?dial_timeout=3s": "redis://[::1]:1/2",
		"redis://us%40er:se%2Fcret@host:1":          "redis://host:1/0",
		"redis://:sec@ret@host:1":                   "redis://host:1/0",
		"redis://secret:12#34@host":                 "********",
		"redis://secret?x@host":                     "********",
		"redis://:secret/1@host":                    "********",
		"nonsense secret":                           "********",
		"unix://user:secret@/run/redis.sock?db=1":   "unix:///run/redis.sock, database 1",
	} {
		cfg := configs.Config{RedisURL: configs.Secret(text)}
		require.Equal(t, want, cfg.RedisAddress(), text)
		require.NotContains(t, cfg.RedisFault("", errors.New("x")).Error(), "secret")
	}
	cfg := configs.Config{RedisAddrs: []string{"a:1", "b:2"}, RedisCluster: true, RedisUsername: "u", RedisPassword: "p"}
	require.Equal(t, "a:1, b:2 (Cluster)", cfg.RedisAddress())
	require.ErrorContains(t, cfg.RedisFault("no", errors.New("why")), "redis_addrs: a:1, b:2 (Cluster): no (why)")
	cfg = configs.Config{RedisAddrs: []string{"a:1"}, RedisMasterName: "m"}
	require.Equal(t, "a:1 (Sentinels of m)", cfg.RedisAddress())
	require.Empty(t, (&configs.Config{}).RedisAddress())
}

func TestRedisWithCertificates(t *testing.T) {
	certificate, key := certificateFiles(t)
	cfg := good(t, "", "RELAY_REDIS_URL=rediss://host", "RELAY_REDIS_CA_FILE="+certificate,
		"RELAY_REDIS_CERT_FILE="+certificate, "RELAY_REDIS_KEY_FILE="+key)
	opts, err := cfg.Redis()
	require.NoError(t, err)
	require.NotNil(t, opts.TLSConfig.RootCAs)
	first, err := opts.TLSConfig.GetClientCertificate(nil)
	require.NoError(t, err)

	renewed, renewedKey := certificateFiles(t)
	require.NoError(t, os.Rename(renewed, certificate))
	require.NoError(t, os.Rename(renewedKey, key))
	second, err := opts.TLSConfig.GetClientCertificate(nil)
	require.NoError(t, err)
	require.NotEqual(t, first.Certificate, second.Certificate, "a renewed certificate is used without a restart")

	good(t, "", "RELAY_REDIS_ADDRS=host:1", "RELAY_REDIS_TLS=true", "RELAY_REDIS_CA_FILE="+certificate)
	for fault, variables := range map[string][]string{
		"REDIS_CA_FILE: needs TLS to Redis; begin redis_url with rediss://, or set redis_tls": {"URL=redis://h", "CA_FILE=" + certificate},
		"REDIS_CERT_FILE: needs TLS to Redis; begin redis_url with rediss://, or set redis_tls": {
			"URL=redis://h", "CERT_FILE=" + certificate, "KEY_FILE=" + key,
		},
		"REDIS_CERT_FILE: set it together with redis_key_file":      {"URL=rediss://h", "CERT_FILE=" + certificate},
		"REDIS_CA_FILE: cannot be read: open /none":                 {"URL=rediss://h", "CA_FILE=/none"},
		"REDIS_CA_FILE: " + key + " contains no certificate in PEM": {"URL=rediss://h", "CA_FILE=" + key},
		"REDIS_CERT_FILE: cannot be used with redis_key_file: open /none": {
			"URL=rediss://h", "CERT_FILE=/none", "KEY_FILE=" + key,
		},
	} {
		for i := range variables {
			variables[i] = "RELAY_REDIS_" + variables[i]
		}
		bad(t, "", variables, "RELAY_"+fault)
	}
}
