package lua

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Fault is why Redis did not serve a call: a closed set, and the label of a metric. "" = it did, or the call failed for
// another reason, as the one that its caller left.
type Fault string

// The faults.
const (
	FaultUnreachable Fault = "unreachable"
	FaultTimeout     Fault = "timeout"
	FaultTLS         Fault = "tls"
	FaultPool        Fault = "pool"
	FaultAuth        Fault = "auth"
	FaultPermission  Fault = "permission"
	FaultProtected   Fault = "protected"
	FaultDatabase    Fault = "database"
	FaultNoCluster   Fault = "no_cluster"
	FaultMoved       Fault = "moved"
	FaultClusterDown Fault = "cluster_down"
	FaultLoading     Fault = "loading"
	FaultMasterDown  Fault = "master_down"
	FaultReadOnly    Fault = "read_only"
	FaultMemory      Fault = "memory"
	FaultDisk        Fault = "disk"
	FaultReplicas    Fault = "replicas"
	FaultBusy        Fault = "busy"
	FaultClients     Fault = "clients"
	FaultWrongType   Fault = "wrong_type"
	FaultOther       Fault = "other"
)

// meanings say each fault, and what to do about it. None holds anything that a server or a sender wrote.
var meanings = map[Fault]struct{ what, remedy string }{
	FaultUnreachable: {"Redis cannot be reached", "check that Redis is running, its address, and the network"},
	FaultTimeout:     {"Redis does not answer in time", "check the load of Redis and the network; redis_timeout bounds a call"},
	FaultTLS:         {"the TLS connection to Redis fails", "set SSL_CERT_FILE to the certificate of the authority, or use redis:// if Redis does not use TLS"},
	FaultPool:        {"all connections to Redis are in use", "check how long Redis calls take, or raise pool_size in redis_url"},
	FaultAuth:        {"Redis refuses the user or the password", "correct redis_username and redis_password, or those in redis_url"},
	FaultPermission:  {"Redis does not allow this user a command or a key", "grant the user the rights in docs/redis.md"},
	FaultProtected:   {"Redis refuses connections from other machines (protected mode)", "set a password in Redis, or bind it to an address"},
	FaultDatabase:    {"Redis has no database with this number", "correct the number at the end of redis_url; a Cluster has only database 0"},
	FaultNoCluster:   {"Redis is not a Cluster, but redis_cluster is set", "set redis_cluster to false, or list the nodes of a Cluster in redis_addrs"},
	FaultMoved:       {"Redis is a Cluster and keeps the keys on another node", "set redis_cluster, and list nodes of the Cluster in redis_addrs"},
	FaultClusterDown: {"the Redis Cluster cannot serve all keys at the moment", "check its nodes with CLUSTER INFO"},
	FaultLoading:     {"Redis is loading its data", "wait until it is loaded"},
	FaultMasterDown:  {"Redis is a replica that lost its master", "check the master, or list the Sentinels in redis_addrs"},
	FaultReadOnly:    {"Redis refuses writes: this server is a read-only replica", "set the master in redis_url, or list the Sentinels in redis_addrs"},
	FaultMemory:      {"Redis refuses writes: out of memory (maxmemory)", "raise maxmemory, or delete other data"},
	FaultDisk:        {"Redis refuses writes: it cannot save its data to disk", "check the disk and the log of Redis"},
	FaultReplicas:    {"too few replicas of Redis confirm a write", "check the replicas of Redis, or lower redis_wait_replicas and min-replicas-to-write"},
	FaultBusy:        {"Redis is busy with a script", "find the client that runs it; SCRIPT KILL ends it"},
	FaultClients:     {"Redis has too many connections", "raise maxclients of Redis, or find the clients that hold them"},
	FaultWrongType:   {"a key in Redis has another type than the relay expects", "find out which program wrote the key, and delete it"},
	FaultOther:       {"Redis refuses the call", "read the answer of Redis in the log"},
}

// Faults are all of them.
func Faults() []Fault {
	all := make([]Fault, 0, len(meanings))
	for fault := range meanings {
		all = append(all, fault)
	}
	return all
}

// String says what is wrong, for everybody: it holds no name, address or text.
func (f Fault) String() string { return meanings[f].what }

// Remedy says what to do about it.
func (f Fault) Remedy() string { return meanings[f].remedy }

// Refused tells whether Redis answered, and will answer the same for as long as nobody changes something there: that it
// can be reached does not mean that it serves.
func (f Fault) Refused() bool {
	switch f {
	case FaultMemory, FaultDisk, FaultWrongType, FaultPermission, FaultReplicas, FaultOther:
		return true
	default:
		return false
	}
}

// Misconfigured tells whether waiting does not help: the relay was told to use this Redis in a way that cannot work.
func (f Fault) Misconfigured() bool {
	switch f {
	case FaultTLS, FaultAuth, FaultPermission, FaultProtected, FaultDatabase, FaultNoCluster:
		return true
	default:
		return false
	}
}

// answers are how a server begins an error, and what it means.
var answers = []struct {
	begin string
	fault Fault
}{
	{"OOM ", FaultMemory},
	{"MISCONF ", FaultDisk},
	{"READONLY ", FaultReadOnly},
	{"WRONGTYPE ", FaultWrongType},
	{"NOPERM ", FaultPermission},
	{"ERR The user executing the script", FaultPermission}, // of a command in a script
	{"The user executing the script", FaultPermission},
	{"WRONGPASS ", FaultAuth},
	{"ERR Protocol error: unauthenticated ", FaultAuth}, // of a long command, where there should have been a password
	{"NOAUTH ", FaultAuth},
	{"ERR AUTH ", FaultAuth},
	{"ERR invalid password", FaultAuth},
	{"ERR Client sent AUTH", FaultAuth},
	{"DENIED ", FaultProtected},
	{"ERR DB index is out of range", FaultDatabase},
	{"ERR invalid DB index", FaultDatabase},
	{"ERR SELECT is not allowed in cluster mode", FaultDatabase},
	{"ERR This instance has cluster support disabled", FaultNoCluster},
	{"MOVED ", FaultMoved},
	{"ASK ", FaultMoved},
	{"CLUSTERDOWN ", FaultClusterDown},
	{"TRYAGAIN ", FaultClusterDown},
	{"LOADING ", FaultLoading},
	{"MASTERDOWN ", FaultMasterDown},
	{"NOREPLICAS ", FaultReplicas},
	{"BUSY ", FaultBusy},
	{"ERR max number of clients reached", FaultClients},
}

// inScript is how Redis before 7 reports the error of a command that a script called.
var inScript = regexp.MustCompile(`^ERR Error running script \(.*?\): @\w+: ?\d+: -?(.*)`)

// FaultOf says why Redis did not serve a call that failed with err.
func FaultOf(err error) Fault {
	var answered redis.Error
	switch {
	case err == nil:
		return ""
	case strings.Contains(err.Error(), "redis: all sentinels "), strings.Contains(err.Error(), "redis: cluster has no nodes"): // plain text of the client
		return FaultUnreachable
	case errors.Is(err, redis.Nil), errors.Is(err, context.Canceled), errors.Is(err, redis.ErrClosed):
		return ""
	case errors.Is(err, ErrNotReplicated):
		return FaultReplicas
	case errors.As(err, &answered):
		return faultOfAnswer(answered.Error())
	case isTLS(err):
		return FaultTLS
	case errors.Is(err, redis.ErrPoolTimeout):
		return FaultPool
	}
	var network net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return FaultTimeout
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return FaultUnreachable
	default:
		return ""
	}
}

func faultOfAnswer(text string) Fault {
	if inside := inScript.FindStringSubmatch(text); inside != nil {
		text = inside[1]
	}
	if strings.HasPrefix(text, "NOSCRIPT ") || strings.HasPrefix(text, "ARG ") { // it is sent in full next; the caller's fault
		return ""
	}
	for _, answer := range answers {
		if strings.HasPrefix(text, answer.begin) {
			return answer.fault
		}
	}
	return FaultOther
}

// isTLS tells whether there is no TLS connection, and none would come by trying again.
func isTLS(err error) bool {
	var alert tls.AlertError
	return noHandshake(err) || errors.As(err, &alert)
}

// noHandshake tells whether this side gave a TLS connection up before anything was sent over it.
func noHandshake(err error) bool {
	var (
		verification *tls.CertificateVerificationError
		authority    x509.UnknownAuthorityError
		host         x509.HostnameError
		invalid      x509.CertificateInvalidError
		plain        tls.RecordHeaderError
	)
	return errors.As(err, &verification) || errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid) || errors.As(err, &plain)
}

// namedKey finds the key that an error of type names.
var namedKey = regexp.MustCompile(`\bkey (relay:\S{1,300}) holds `)

// Describe says for operators why a call failed with err, and what to do. It names the key where the server did, but no
// value of a level, which a sender chose.
func Describe(err error) string {
	fault := FaultOf(err)
	if fault == "" {
		return ""
	}
	what := fault.String()
	if key := namedKey.FindStringSubmatch(err.Error()); fault == FaultWrongType && key != nil {
		what += ", " + withoutValue(key[1])
	}
	return what + "; " + fault.Remedy()
}

// withoutValue cuts the value off the key of an inner level.
func withoutValue(key string) string {
	const before = 5 // relay, group, limit, strategy, level; the channel is next, and then the value
	if parts := strings.Split(key, ":"); len(parts) > before+1 && parts[2] == "limit" {
		return strings.Join(parts[:before+1], ":") + ":…"
	}
	return key
}
