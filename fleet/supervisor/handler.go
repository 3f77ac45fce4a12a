package supervisor

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/arche-netcode/netcode/fleet"
)

// maxRequest bounds the bytes of a request for a match: the largest data as JSON, which may escape each byte.
const maxRequest = 6*fleet.MaxMatchData + 8<<10

// ServeHTTP implements http.Handler, for backends:
//
//	POST /match     a Request as JSON; the answer is 201 and an Answer
//	GET  /servers   Fleet
//	GET  /metrics   for Prometheus
//	GET  /          a page with the fleet
//
// Without Config.Bearer only this machine may ask, under the names 127.0.0.1, ::1 and localhost. With it, whoever sends the key may; a
// browser asks for it as a password, for any name.
// Answers of 429 and 503 have Retry-After. Pages of other sites are refused.
func (s *Supervisor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if err := s.mayAsk(r); err != nil {
		s.refuse(w, err)
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "POST /match":
		s.serveMatch(w, r)
	case "GET /servers":
		reply(w, http.StatusOK, s.Fleet())
	case "GET /metrics":
		h.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		s.WriteMetrics(w)
	case "GET /":
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-ancestors 'none'")
		_, _ = w.Write([]byte(page))
	default:
		s.refuse(w, &refusal{http.StatusNotFound, "there are POST /match, GET /servers, GET /metrics and GET /"})
	}
}

// mayAsk returns why a request is refused.
func (s *Supervisor) mayAsk(r *http.Request) error {
	if !s.limits.take(r.RemoteAddr) {
		return &refusal{http.StatusTooManyRequests, "too many requests"}
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return &refusal{http.StatusForbidden, "a page of another site asks"}
	}
	if s.config.Bearer != "" {
		key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if _, password, basic := r.BasicAuth(); basic { // Of a browser that shows the page.
			key, ok = password, true
		}
		if sum := sha256.Sum256([]byte(key)); !ok || subtle.ConstantTimeCompare(sum[:], s.bearer[:]) != 1 {
			return &refusal{http.StatusUnauthorized, "send the key: Authorization: Bearer KEY"}
		}
		return nil
	}
	at, err := url.Parse("http://" + r.Host)
	if err != nil || !isLocal(at.Hostname()) || !ipOf(r.RemoteAddr).IsLoopback() {
		return &refusal{http.StatusForbidden, "only this machine may ask, as 127.0.0.1, ::1 or localhost: see Config.Bearer"}
	}
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		return &refusal{http.StatusForbidden, "a page of another site asks"}
	}
	return nil
}

// isLocal reports whether a host is a loopback name or address.
func isLocal(host string) bool {
	return host == "localhost" || ipOf("["+host+"]:0").IsLoopback() || ipOf(host+":0").IsLoopback()
}

// refuse answers with an error.
func (s *Supervisor) refuse(w http.ResponseWriter, err error) {
	known := &refusal{http.StatusInternalServerError, "internal error"}
	if !errors.As(err, &known) {
		s.config.Logger.Error("fleet: a request failed", "error", err)
	}
	s.mu.Lock()
	switch known.status {
	case http.StatusTooManyRequests:
		s.counts.limited++
	case http.StatusUnauthorized, http.StatusForbidden:
		s.counts.unauthorized++
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
		s.counts.malformed++
	}
	s.mu.Unlock()
	switch known.status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Basic realm="fleet"`)
	}
	reply(w, known.status, map[string]string{"error": known.text})
}

// serveMatch answers POST /match.
func (s *Supervisor) serveMatch(w http.ResponseWriter, r *http.Request) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		s.refuse(w, &refusal{http.StatusUnsupportedMediaType, "send JSON: Content-Type: application/json"})
		return
	}
	request, err := readRequest(w, r)
	if err != nil {
		s.refuse(w, err)
		return
	}
	answer, err := s.Allocate(request)
	if err != nil {
		s.refuse(w, err)
		return
	}
	reply(w, http.StatusCreated, answer)
}

func readRequest(w http.ResponseWriter, r *http.Request) (request Request, err error) {
	in := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
	in.DisallowUnknownFields()
	err = in.Decode(&request)
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return request, &refusal{http.StatusRequestEntityTooLarge, "the request is too large"}
	}
	if err != nil || in.More() {
		return request, &refusal{http.StatusBadRequest, `the body is one object with user, match, data and ticket: {"user":"ann"}`}
	}
	return request, nil
}
