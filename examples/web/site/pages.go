package site

import (
	"encoding/json"
	"html/template"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
)

// Settings tell a client how to connect. Pages and package join read them.
type Settings struct {
	WebTransport, WebSocket string // URLs.
	Hash                    string // Of the certificate, in hexadecimal digits.
	Wait                    int    // Milliseconds until an attempt by WebTransport is given up.
	Also                    string // URLs of the page for other machines; empty: it is for this one alone.
}

// SettingsFor are those for a client that reached the site by a host, a name with or without a port.
func (s *Site) SettingsFor(host string) Settings {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if !slices.Contains(s.names, name) { // Some other name of this machine: the certificate has no such.
		name = s.names[0]
	}
	to := net.JoinHostPort(name, s.udpPort)
	if s.options.Blocked != "" {
		to = s.options.Blocked
	}
	return Settings{
		WebTransport: "https://" + to + "/netcode", WebSocket: "ws://" + host + "/ws",
		Hash: s.hash, Wait: int(s.options.Wait.Milliseconds()), Also: strings.Join(s.URLs()[1:], " or "),
	}
}

// Page adds a page: a template of HTML that gets the Settings.
func (s *Site) Page(pattern, text string) {
	page := template.Must(template.New("page").Parse(text))
	s.Mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		_ = page.Execute(w, s.SettingsFor(r.Host)) // An error is that of the connection.
	})
}

// routes adds what every page needs: the client in WebAssembly, the folder of the JavaScript client if there is one, the lock file of the
// protocol, and the WebSocket.
func (s *Site) routes() {
	s.Mux.HandleFunc("GET /client.wasm", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/wasm")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(s.options.WASM)
	})
	s.Mux.HandleFunc("GET /wasm_exec.js", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, filepath.Join(goRoot(), "lib", "wasm", "wasm_exec.js"))
	})
	s.Mux.Handle("GET /netcode/", http.StripPrefix("/netcode/", http.FileServer(http.Dir(s.options.JavaScript))))
	s.Mux.HandleFunc("GET /settings", func(w http.ResponseWriter, r *http.Request) { _ = json.NewEncoder(w).Encode(s.SettingsFor(r.Host)) })
	s.Mux.HandleFunc("GET /game.lock", func(w http.ResponseWriter, r *http.Request) { _ = s.options.Protocol().WriteSchema(w) })
	s.Mux.HandleFunc("GET /ws", s.ws.ServeHTTP)
}
