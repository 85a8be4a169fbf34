package server

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A browser signs in with the admin token once, and shows a cookie from then on: an event stream carries no header. The
// cookie holds no token: it is signed with it, so that every replica takes it, and it ends with the token.
const (
	sessionCookie = "relay_session"
	sessionLasts  = 8 * time.Hour
	sessionPath   = "/"
)

const loginRoute = "POST /login"

// login takes the admin token of a form, and answers a cookie.
func (s *Server) login(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxOrder)
	if !s.admin.set || !s.admin.is(r.PostFormValue("token")) {
		return errorf(unauthorized, "that is not the admin token")
	}
	until := time.Now().Add(sessionLasts)
	s.setSession(w, r, s.session(until, rand.Text()), until)
	s.audit(r, "signed in")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// logout takes the cookie back, and this replica does not accept it any more.
func (s *Server) logout(w http.ResponseWriter, r *http.Request) error {
	if s.signedIn(r) {
		cookie, _ := r.Cookie(sessionCookie) // it is there, since it is good
		s.guard.ended.end(cookie.Value, time.Now())
		s.audit(r, "signed out")
	}
	s.setSession(w, r, "", time.Unix(1, 0))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) setSession(w http.ResponseWriter, r *http.Request, value string, until time.Time) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // secure where the request is
		Name: sessionCookie, Value: value, Path: sessionPath, Expires: until, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.encrypted(r),
	})
}

// encrypted tells whether a request came by TLS, here or to a proxy that is trusted to say so.
func (s *Server) encrypted(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	address, err := netip.ParseAddr(host)
	return err == nil && s.proxies.has(address.Unmap().WithZone("")) && strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// session is the value of a cookie that is good until a time; nonce tells it from others.
func (s *Server) session(until time.Time, nonce string) string {
	text := strconv.FormatInt(until.Unix(), 10) + "." + nonce
	mac := hmac.New(sha256.New, []byte(s.opts.AdminToken))
	mac.Write([]byte("dashboard until " + text))
	return text + "." + hex.EncodeToString(mac.Sum(nil))
}

// signedIn tells whether a request shows a cookie that is good now.
func (s *Server) signedIn(r *http.Request) bool {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil || !s.admin.set {
		return false
	}
	text, rest, _ := strings.Cut(cookie.Value, ".")
	nonce, _, _ := strings.Cut(rest, ".")
	seconds, err := strconv.ParseInt(text, 10, 64)
	until := time.Unix(seconds, 0)
	return err == nil && hmac.Equal([]byte(cookie.Value), []byte(s.session(until, nonce))) && time.Now().Before(until) && !s.guard.ended.has(cookie.Value)
}

// maxEndedSessions bounds how many sessions that ended are remembered.
const maxEndedSessions = 1024

// endedSessions are cookies that were good once, until they expire.
type endedSessions struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// end remembers a session that ended. Only who knows the admin token makes sessions, so there are few; beyond the bound the
// one that expires first is forgotten.
func (e *endedSessions) end(value string, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := ""
	for known, until := range e.until {
		if !now.Before(until) {
			delete(e.until, known)
		} else if first == "" || until.Before(e.until[first]) {
			first = known
		}
	}
	if len(e.until) >= maxEndedSessions {
		delete(e.until, first)
	}
	e.until[value] = now.Add(sessionLasts)
}

func (e *endedSessions) has(value string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ended := e.until[value]
	return ended
}
