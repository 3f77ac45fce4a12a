package supervisor

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/arche-netcode/netcode/fleet"
)

// maxRequest bounds the bytes of a request for a match: the largest data as JSON, which may escape each byte.
const maxRequest = 6*fleet.MaxMatchData + 8<<10

// Front answers POST /match of backends, in front of any allocator: that of Supervisor, or one of Agones. It decides who may ask and how
// often, and bounds what it reads. NewFront makes one.
type Front struct {
	bearer   [sha256.Size]byte
	isOpen   bool // Without a key: for this machine alone.
	allocate func(context.Context, Request) (Answer, error)
	limits   limits
	log      *slog.Logger

	limited, unauthorized, malformed atomic.Uint64
}

// NewFront returns the front of an allocator. bearer and requests are as in Config. allocate gets requests whose fields are in range;
// it may refuse one by Refusal.
func NewFront(bearer string, requests int, allocate func(context.Context, Request) (Answer, error)) (*Front, error) {
	if bearer != "" && len(bearer) < minBearer {
		return nil, fmt.Errorf("supervisor: the bearer key has %d bytes, at least %d", len(bearer), minBearer)
	}
	f := &Front{bearer: sha256.Sum256([]byte(bearer)), isOpen: bearer == "", allocate: allocate, log: slog.Default()}
	f.limits.init(cmp.Or(requests, defaultRequests))
	return f, nil
}

// ServeHTTP implements http.Handler. Without a key only this machine may ask, under the names 127.0.0.1, ::1 and localhost. With it,
// whoever sends the key may. Answers of 429 and 503 have Retry-After.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !f.admit(w, r):
	case r.Method == http.MethodPost && r.URL.Path == "/match":
		f.serveMatch(w, r)
	default:
		f.refuse(w, Refusal(http.StatusNotFound, "there is POST /match"))
	}
}

// Limit returns a listener that bounds the connections of each host, for http.Serve. Where all are used up, the newest one of the host
// with most makes room.
func (f *Front) Limit(l net.Listener) net.Listener { return &limited{l, &f.limits} }

// admit sets the headers of all answers. It returns false for a request that it refused.
func (f *Front) admit(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	err := f.mayAsk(r)
	if err != nil {
		f.refuse(w, err)
	}
	return err == nil
}

// mayAsk returns why a request is refused.
func (f *Front) mayAsk(r *http.Request) error {
	if !f.limits.take(r.RemoteAddr) {
		return Refusal(http.StatusTooManyRequests, "too many requests")
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return Refusal(http.StatusForbidden, "a page of another site asks")
	}
	if !f.isOpen {
		key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if _, password, basic := r.BasicAuth(); basic { // Of a browser that shows the page.
			key, ok = password, true
		}
		if sum := sha256.Sum256([]byte(key)); !ok || subtle.ConstantTimeCompare(sum[:], f.bearer[:]) != 1 {
			return Refusal(http.StatusUnauthorized, "send the key: Authorization: Bearer KEY")
		}
		return nil
	}
	at, err := url.Parse("http://" + r.Host)
	if err != nil || !isLocal(at.Hostname()) || !ipOf(r.RemoteAddr).IsLoopback() {
		return Refusal(http.StatusForbidden, "only this machine may ask, as 127.0.0.1, ::1 or localhost, unless there is a key: -bearer, Config.Bearer")
	}
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		return Refusal(http.StatusForbidden, "a page of another site asks")
	}
	return nil
}

// isLocal reports whether a host is a loopback name or address.
func isLocal(host string) bool {
	return host == "localhost" || ipOf("["+host+"]:0").IsLoopback() || ipOf(host+":0").IsLoopback()
}

// refuse answers with an error.
func (f *Front) refuse(w http.ResponseWriter, err error) {
	known := &refusal{http.StatusInternalServerError, "internal error"}
	if !errors.As(err, &known) {
		f.log.Error("fleet: a request failed", "error", err)
	}
	switch known.status {
	case http.StatusTooManyRequests:
		f.limited.Add(1)
		w.Header().Set("Retry-After", "1")
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	case http.StatusUnauthorized:
		f.unauthorized.Add(1)
		w.Header().Set("WWW-Authenticate", `Basic realm="fleet"`)
	case http.StatusForbidden:
		f.unauthorized.Add(1)
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
		f.malformed.Add(1)
	}
	reply(w, known.status, map[string]string{"error": known.text})
}

// serveMatch answers POST /match.
func (f *Front) serveMatch(w http.ResponseWriter, r *http.Request) {
	request, err := readRequest(w, r)
	if err == nil {
		err = request.check()
	}
	var answer Answer
	if err == nil {
		answer, err = f.allocate(r.Context(), request)
	}
	if err != nil {
		f.refuse(w, err)
		return
	}
	reply(w, http.StatusCreated, answer)
}

func readRequest(w http.ResponseWriter, r *http.Request) (request Request, err error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return request, Refusal(http.StatusUnsupportedMediaType, "send JSON: Content-Type: application/json")
	}
	in := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
	in.DisallowUnknownFields()
	err = in.Decode(&request)
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return request, Refusal(http.StatusRequestEntityTooLarge, "the request is too large")
	}
	if err != nil || in.More() {
		return request, Refusal(http.StatusBadRequest, `the body is one object with user, match, data and ticket: {"user":"ann"}`)
	}
	return request, nil
}

// reply writes v as JSON.
func reply(w http.ResponseWriter, status int, v any) {
	if v == nil {
		v = struct{}{}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // The other end may be gone.
}
