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

// Fault is the reason why Redis did not serve a call. The set of faults is fixed, and each is a label value of a metric.
// The empty fault means that Redis served the call, or that the call failed for another reason, for example because its
// caller cancelled it.
type Fault string

// The faults. [Fault.String] describes each of them.
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

// Faults returns all faults, in no particular order.
func Faults() []Fault {
	all := make([]Fault, 0, len(meanings))
	for fault := range meanings {
		all = append(all, fault)
	}
	return all
}

// String describes the fault. The text is safe to show to anybody: it contains no name, address or answer of a server.
func (f Fault) String() string { return meanings[f].what }

// Remedy returns what an operator can do about the fault.
func (f Fault) Remedy() string { return meanings[f].remedy }

// Refused reports whether Redis answered with an error that lasts until somebody changes something in Redis. A probe
// that only checks whether Redis can be reached does not notice such a fault.
func (f Fault) Refused() bool {
	switch f {
	case FaultMemory, FaultDisk, FaultWrongType, FaultPermission, FaultReplicas, FaultOther:
		return true
	default:
		return false
	}
}

// Misconfigured reports whether the fault is one of configuration, so that waiting does not help.
func (f Fault) Misconfigured() bool {
	switch f {
	case FaultTLS, FaultAuth, FaultPermission, FaultProtected, FaultDatabase, FaultNoCluster:
		return true
	default:
		return false
	}
}

// answers map the prefix of a server's error to its fault. notRun marks the errors with which a server refuses a command
// before it runs any part of it.
var answers = []struct {
	prefix string
	fault  Fault
	notRun bool
}{
	{"OOM ", FaultMemory, true},
	{"MISCONF ", FaultDisk, true},
	{"READONLY ", FaultReadOnly, true},
	{"WRONGTYPE ", FaultWrongType, false},
	{"NOPERM ", FaultPermission, true},
	{"ERR The user executing the script", FaultPermission, false}, // for a command in a script
	{"The user executing the script", FaultPermission, false},
	{"WRONGPASS ", FaultAuth, true},
	{"ERR Protocol error: unauthenticated ", FaultAuth, true}, // for a long command before the password
	{"NOAUTH ", FaultAuth, true},
	{"ERR AUTH ", FaultAuth, false},
	{"ERR invalid password", FaultAuth, false},
	{"ERR Client sent AUTH", FaultAuth, false},
	{"DENIED ", FaultProtected, true},
	{"ERR DB index is out of range", FaultDatabase, true},
	{"ERR invalid DB index", FaultDatabase, false},
	{"ERR SELECT is not allowed in cluster mode", FaultDatabase, true},
	{"ERR This instance has cluster support disabled", FaultNoCluster, false},
	{"MOVED ", FaultMoved, true},
	{"ASK ", FaultMoved, true},
	{"CLUSTERDOWN ", FaultClusterDown, true},
	{"TRYAGAIN ", FaultClusterDown, true},
	{"LOADING ", FaultLoading, true},
	{"MASTERDOWN ", FaultMasterDown, true},
	{"NOREPLICAS ", FaultReplicas, true},
	{"BUSY ", FaultBusy, true},
	{"ERR max number of clients reached", FaultClients, true},
}

// inScript matches the error of a command that a script called, as Redis before 7 reports it.
var inScript = regexp.MustCompile(`^ERR Error running script \(.*?\): @\w+: ?\d+: -?(.*)`)

// FaultOf returns why Redis did not serve a call that failed with err, or "" if err is nil or has another cause.
func FaultOf(err error) Fault {
	var answered redis.Error
	switch {
	case err == nil:
		return ""
	case hasNoServer(err):
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

// hasNoServer reports whether the client found no server to send a call to. The client has only texts for these errors.
func hasNoServer(err error) bool {
	text := err.Error()
	return strings.Contains(text, "redis: all sentinels ") || strings.Contains(text, "redis: cluster has no nodes")
}

func faultOfAnswer(text string) Fault {
	if inside := inScript.FindStringSubmatch(text); inside != nil {
		text = inside[1]
	}
	// After NOSCRIPT the client sends the source; ARG is a wrong argument, the fault of the caller.
	if strings.HasPrefix(text, "NOSCRIPT ") || strings.HasPrefix(text, "ARG ") {
		return ""
	}
	for _, answer := range answers {
		if strings.HasPrefix(text, answer.prefix) {
			return answer.fault
		}
	}
	return FaultOther
}

// isTLS reports whether TLS failed for a reason that another attempt does not change.
func isTLS(err error) bool {
	var alert tls.AlertError
	return noHandshake(err) || errors.As(err, &alert)
}

// noHandshake reports whether this side refused the TLS connection before it sent anything over it.
func noHandshake(err error) bool {
	var (
		verification *tls.CertificateVerificationError
		authority    x509.UnknownAuthorityError
		host         x509.HostnameError
		invalid      x509.CertificateInvalidError
		plain        tls.RecordHeaderError
	)
	return errors.As(err, &verification) || errors.As(err, &authority) || errors.As(err, &host) ||
		errors.As(err, &invalid) || errors.As(err, &plain)
}

// namedKey matches the key in the error of a script that found a key of the wrong type.
var namedKey = regexp.MustCompile(`\bkey (relay:\S{1,300}) holds `)

// Describe returns, for operators, why a call failed with err and what to do about it, or "" if the error is not a fault
// of Redis. If the server named a key, the text names it too, but without the value of a level, which a sender chose.
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

// withoutValue replaces the value in the key of a limit with an ellipsis.
func withoutValue(key string) string {
	const before = 5 // relay, group, limit, strategy, level; the channel and the value follow
	if parts := strings.Split(key, ":"); len(parts) > before+1 && parts[2] == "limit" {
		return strings.Join(parts[:before+1], ":") + ":…"
	}
	return key
}
