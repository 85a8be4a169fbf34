package server_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"slackrelay/server"
)

// If a proxy writes something that is not an address, the sender does not get the address of the proxy, which may be allowed. Each
// such text is a sender of its own.
func TestUnreadableForwardedAddressIsNeverAllowed(t *testing.T) {
	t.Parallel()
	everywhere := []string{"10.0.0.0/8", "2001:db8::/32", "127.0.0.9", "0.0.0.0/0", "::/0"}
	prefixes := func(texts ...string) []netip.Prefix {
		all, wrong := server.ParseAddresses(texts)
		require.Empty(t, wrong)
		return all
	}
	intake := &stubIntake{}
	log := &bytes.Buffer{}
	s := server.New(server.Options{
		Channels: []server.Channel{
			{Name: "c", AllowFrom: prefixes(everywhere...)},
			{Name: "open"},
			{Name: "guarded", IngressToken: "tok", AllowFrom: prefixes(everywhere...)},
		},
		Intake: intake, Proxies: prefixes("127.0.0.9"), Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	names := map[string]bool{}
	for _, hop := range []string{
		"unknown", "", " ", "203.0.113.9,", "203.0.113.9, ", `"203.0.113.9"`, "203.0.113.009", "0xcb007109", "3405803785",
		"0313.0.0161.011", "203.0.113", "_hidden", "nonsense",
		"[2001:db9::1]", "2001:db9::1]:443", "203.0.113.9:", "203.0.113.9:99999", "203.0.113.9:https", "203.0.113.9 203.0.113.8",
		"for=203.0.113.9", "10.1.2.3, nonsense",
	} {
		t.Run(hop, func(t *testing.T) {
			send := func(path string) (int, string) {
				r := post(path, body)
				r.RemoteAddr = "127.0.0.9:1"
				r.Header.Set("X-Forwarded-For", hop)
				r.Header.Set("Authorization", "Bearer tok")
				intake.sender = ""
				log.Reset()
				status, _, answer := serve(s.Public(), r)
				require.Contains(t, log.String(), `msg="sender address not readable"`, hop)
				return status, string(answer)
			}
			for _, path := range []string{"/hooks/c", "/hooks/guarded"} {
				status, answer := send(path)
				require.Equal(t, http.StatusForbidden, status, "%q: %s", hop, answer)
				require.Contains(t, answer, "an unreadable address in X-Forwarded-For")
			}
			status, _ := send("/hooks/open")
			require.Equal(t, http.StatusAccepted, status, hop)
			require.Regexp(t, `^unknown-[0-9a-f]{8}$`, intake.sender, hop)
			names[intake.sender] = true
		})
	}
	require.Greater(t, len(names), 10, "each text is a sender of its own")

	r := post("/hooks/c", body)
	r.RemoteAddr = "127.0.0.9:1"
	status, _, _ := serve(s.Public(), r)
	require.Equal(t, http.StatusAccepted, status, "the proxy itself, without X-Forwarded-For")
	require.Equal(t, "127.0.0.9", intake.sender)
}

// A sender with an unreadable address does not use up the slots of another one.
func TestUnreadableAddressesDoNotShareSlots(t *testing.T) {
	t.Parallel()
	proxies, _ := server.ParseAddresses([]string{"127.0.0.9"})
	waiting := make(chan struct{})
	s := server.New(server.Options{
		Channels: []server.Channel{{Name: "c"}}, Intake: &stubIntake{}, Proxies: proxies, MaxConcurrent: 1, Logger: slog.New(slog.DiscardHandler),
	})
	from := func(hop string, r *http.Request) *http.Request {
		r.RemoteAddr = "127.0.0.9:1"
		r.Header.Set("X-Forwarded-For", hop)
		return r
	}
	reads := make(chan struct{})
	held := post("/hooks/c", "")
	held.Body = readerFunc(func([]byte) (int, error) {
		close(reads)
		<-waiting
		return 0, http.ErrBodyReadAfterClose
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		serve(s.Public(), from("_one", held))
	}()
	<-reads
	status, _, _ := serve(s.Public(), from("_one", post("/hooks/c", body)))
	require.Equal(t, http.StatusServiceUnavailable, status)
	status, _, _ = serve(s.Public(), from("_two", post("/hooks/c", body)))
	require.Equal(t, http.StatusAccepted, status)
	close(waiting)
	<-done
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func (f readerFunc) Close() error { return nil }

// IPv4 ranges in IPv6 notation become IPv4, like the addresses of requests.
func TestParseAddressesTreatsMappedRangesAsIPv4(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"::ffff:10.0.0.0/104": "10.0.0.0/8", "::ffff:10.1.2.3/128": "10.1.2.3/32", "::ffff:10.1.2.3": "10.1.2.3/32",
		"::ffff:0.0.0.0/96": "0.0.0.0/0", "10.1.2.3/8": "10.0.0.0/8",
	} {
		t.Run(text, func(t *testing.T) {
			all, wrong := server.ParseAddresses([]string{text})
			require.Empty(t, wrong)
			require.Equal(t, want, all[0].String(), text)
		})
	}
	for _, text := range []string{"::ffff:10.0.0.0/95", "::ffff:10.0.0.0/0", "10.0.0.0/33", "10.0.0.0:80", ""} {
		t.Run(text, func(t *testing.T) {
			_, wrong := server.ParseAddresses([]string{"10.0.0.0/8", text})
			require.Equal(t, text, wrong)
		})
	}
}
