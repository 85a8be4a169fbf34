package server

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A browser signs in with the admin token once, and shows a cookie from then on: an event stream carries no header. The
// cookie holds no token: it is signed with it, so that every replica takes it, and it ends with the token.
const (
	sessionCookie = "relay_session"
	sessionLasts  = 12 * time.Hour
	sessionPath   = "/"
)

// login takes the admin token of a form, and answers a cookie.
func (s *Server) login(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxOrder)
	if !s.admin.set || !s.admin.is(r.PostFormValue("token")) {
		return errorf(unauthorized, "that is not the admin token")
	}
	until := time.Now().Add(sessionLasts)
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // secure where the listener is
		Name: sessionCookie, Value: s.session(until), Path: sessionPath, Expires: until, HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
	s.audit(r, "signed in")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// session is the value of a cookie that is good until a time.
func (s *Server) session(until time.Time) string {
	text := strconv.FormatInt(until.Unix(), 10)
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
	text, _, _ := strings.Cut(cookie.Value, ".")
	seconds, err := strconv.ParseInt(text, 10, 64)
	until := time.Unix(seconds, 0)
	return err == nil && hmac.Equal([]byte(cookie.Value), []byte(s.session(until))) && time.Now().Before(until)
}
