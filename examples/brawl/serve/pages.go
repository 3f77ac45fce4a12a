package serve

import (
	_ "embed"
	"encoding/json"
	"html/template"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/examples/brawl/rules"
)

//go:embed index.html
var page string

// settings are what a client needs to connect, as the clients of examples/web read them.
type settings struct {
	WebTransport, WebSocket string // URLs.
	Hash                    string // Of the certificate, in hexadecimal digits.
	Wait                    int    // Milliseconds until an attempt by WebTransport is given up.
	Also                    string // URLs of the page for other machines; empty: it is for this one alone.
}

// settingsFor are those for a client that reached the page by a host name.
func (h *Host) settingsFor(r *http.Request) settings {
	name, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		name = r.Host
	}
	if !slices.Contains(h.names, name) { // Some other name of this machine: the certificate has no such.
		name = h.names[0]
	}
	return settings{
		WebTransport: "https://" + net.JoinHostPort(name, h.port) + "/netcode", WebSocket: "ws://" + r.Host + "/ws",
		Hash: h.hash, Wait: h.wait, Also: strings.Join(h.URLs()[1:], " or "),
	}
}

// routes are the files of the page, its settings, and the WebSocket.
func (h *Host) routes() http.Handler {
	mux := http.NewServeMux()
	tmpl := template.Must(template.New("page").Parse(page))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		_ = tmpl.Execute(w, h.settingsFor(r)) // An error is that of the connection.
	})
	mux.HandleFunc("GET /client.wasm", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/wasm")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(h.options.WASM)
	})
	mux.HandleFunc("GET /wasm_exec.js", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, filepath.Join(goRoot(), "lib", "wasm", "wasm_exec.js"))
	})
	mux.HandleFunc("GET /settings", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(h.settingsFor(r))
	})
	mux.HandleFunc("GET /game.lock", func(w http.ResponseWriter, r *http.Request) { _ = netcode.WriteSchema(w, rules.Protocol()) })
	mux.HandleFunc("GET /ws", h.ws.ServeHTTP)
	return private(mux)
}

// private refuses requests that came to an address of the internet: page and WebSocket are in clear.
func private(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok && !isNear(at.IP) {
			http.Error(w, "this game is for a local network", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isNear(ip net.IP) bool { return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() }

// localNames are the names and addresses by which a local network finds this machine; those of the machine itself come first.
func localNames() []string {
	names := []string{"127.0.0.1", "localhost"}
	addresses, _ := net.InterfaceAddrs() // Without any, the game is for this machine.
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsPrivate() && n.IP.To4() != nil {
			names = append(names, n.IP.String())
		}
	}
	return names
}
