package server

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A browser signs in with the admin token once and gets a cookie, because an event stream sends no header. The cookie does not
// contain the token but is signed with it, so that every replica accepts it, and it becomes invalid with the token.
const (
	sessionCookie   = "relay_session"
	sessionDuration = 8 * time.Hour
	sessionPath     = "/"
)

const loginRoute = "POST /login"

// login checks the admin token of a form, and sets a cookie.
func (s *Server) login(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxAdminBody)
	if !s.admin.set || !s.admin.equals(r.PostFormValue("token")) {
		return errorf(unauthorized, "that is not the admin token")
	}
	until := time.Now().Add(sessionDuration)
	s.setSession(w, r, s.session(until, rand.Text()), until)
	s.audit(r, "signed in")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// logout removes the cookie, and this replica no longer accepts it.
func (s *Server) logout(w http.ResponseWriter, r *http.Request) error {
	if s.signedIn(r) {
		cookie, _ := r.Cookie(sessionCookie) // signedIn found it
		s.opts.Guard.ended.end(cookie.Value, time.Now())
		s.audit(r, "signed out")
	}
	s.setSession(w, r, "", time.Unix(1, 0))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) setSession(w http.ResponseWriter, r *http.Request, value string, until time.Time) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure if the request is
		Name: sessionCookie, Value: value, Path: sessionPath, Expires: until,
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: s.encrypted(r),
	})
}

// encrypted reports whether a request arrived by TLS, here or at a trusted proxy.
func (s *Server) encrypted(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	address, ok := parseHop(r.RemoteAddr)
	return ok && s.proxies.contains(address) && strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// session returns the value of a cookie that is valid until a time. The nonce makes it unique.
func (s *Server) session(until time.Time, nonce string) string {
	text := strconv.FormatInt(until.Unix(), 10) + "." + nonce
	mac := hmac.New(sha256.New, []byte(s.opts.AdminToken))
	mac.Write([]byte("dashboard until " + text))
	return text + "." + hex.EncodeToString(mac.Sum(nil))
}

// signedIn reports whether a request has a valid cookie.
func (s *Server) signedIn(r *http.Request) bool {
	cookie, err := r.Cookie(sessionCookie)
	if err != nil || !s.admin.set {
		return false
	}
	text, rest, _ := strings.Cut(cookie.Value, ".")
	nonce, _, _ := strings.Cut(rest, ".")
	seconds, err := strconv.ParseInt(text, 10, 64)
	until := time.Unix(seconds, 0)
	valid := err == nil && hmac.Equal([]byte(cookie.Value), []byte(s.session(until, nonce))) && time.Now().Before(until)
	return valid && !s.opts.Guard.ended.contains(cookie.Value)
}

// maxEndedSessions is how many ended sessions are remembered.
const maxEndedSessions = 1024

// endedSessions are the cookies of signed-out sessions, until they expire.
type endedSessions struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// end remembers an ended session. Only somebody who knows the admin token can start one, so there are few; beyond
// maxEndedSessions, the one that expires first is forgotten.
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
	e.until[value] = now.Add(sessionDuration)
}

func (e *endedSessions) contains(value string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ended := e.until[value]
	return ended
}
