package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/examples/web/game"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/websocket"
	"github.com/arche-netcode/netcode/transport/webtransport"
)

//go:embed index.html
var page string

//go:embed field.js
var fieldJS string

//go:embed js.html
var pageJS string

// clientJS is the folder of the JavaScript client.
const clientJS = "../../clients/js/src"

// settings are those of the page, and of a headless client.
type settings struct {
	WebTransport, WebSocket string // URLs.
	Hash                    string // Of the certificate, in hexadecimal digits.
	Wait                    int    // Milliseconds until an attempt by WebTransport is given up.
}

// host serves page and game.
type host struct {
	match    *game.Match
	settings settings
	url      string
	wasm     []byte // The client, compressed by gzip.

	wt     *webtransport.Server
	ws     *websocket.Server
	socket *transport.Joined
	http   *http.Server
	page   net.Listener
}

// listen makes a host of a client that build built. blocked gives the page a WebTransport URL where nobody answers, as behind a firewall.
func listen(wasm []byte, address string, loss float64, blocked string, bodies int) (*host, error) {
	certificate, hash, err := webtransport.NewCertificate(time.Now(), "127.0.0.1", "localhost")
	if err != nil {
		return nil, err
	}
	h := &host{wasm: wasm}
	if h.page, err = net.Listen("tcp", address); err != nil {
		return nil, err
	}
	own := h.page.Addr().String()
	h.url = "http://" + own + "/"
	h.wt, err = webtransport.Listen("127.0.0.1:0", webtransport.Config{
		TLS: &tls.Config{Certificates: []tls.Certificate{certificate}}, Origins: []string{own},
	})
	if err != nil {
		return nil, err
	}
	h.ws = websocket.NewServer(transport.MustParseAddr(own), websocket.Config{})
	h.settings = settings{
		WebTransport: "https://" + h.wt.LocalAddr().String() + "/netcode", WebSocket: "ws://" + own + "/ws",
		Hash: hex.EncodeToString(hash[:]), Wait: 3000,
	}
	if blocked != "" {
		h.settings.WebTransport, h.settings.Wait = "https://"+blocked+"/netcode", 500
	}
	h.socket = transport.Join(h.wt, h.ws)
	h.match, err = game.NewCrowd(&lossy{h.socket, loss, rand.New(rand.NewPCG(1, 2))}, bodies)
	h.http = &http.Server{Handler: h.routes(), ConnContext: websocket.ShortBuffer, ReadHeaderTimeout: 10 * time.Second}
	return h, err
}

// run serves until ctx is done.
func (h *host) run(ctx context.Context) error {
	go func() {
		if err := h.http.Serve(h.ws.Guard(h.page)); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(os.Stderr, "page:", err)
		}
	}()
	err := h.match.Run(ctx) // At its end it closes the socket.
	return errors.Join(err, h.http.Close())
}

// routes are the files of the page, its settings, and the WebSocket.
func (h *host) routes() http.Handler {
	mux := http.NewServeMux()
	tmpl := template.Must(template.New("page").Parse(page))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		_ = tmpl.Execute(w, h.settings) // an error is that of the connection
	})
	tmplJS := template.Must(template.New("js").Parse(pageJS))
	mux.HandleFunc("GET /js", func(w http.ResponseWriter, r *http.Request) { _ = tmplJS.Execute(w, h.settings) })
	mux.HandleFunc("GET /field.js", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = io.WriteString(w, fieldJS)
	})
	mux.Handle("GET /netcode/", http.StripPrefix("/netcode/", http.FileServer(http.Dir(clientJS))))
	mux.HandleFunc("GET /game.lock", func(w http.ResponseWriter, r *http.Request) { _ = netcode.WriteSchema(w, game.NewProtocol()) })
	mux.HandleFunc("GET /client.wasm", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/wasm")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(h.wasm)
	})
	mux.HandleFunc("GET /wasm_exec.js", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, filepath.Join(goRoot(), "lib", "wasm", "wasm_exec.js"))
	})
	mux.HandleFunc("GET /settings", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(h.settingsText()) })
	mux.HandleFunc("GET /ws", h.ws.ServeHTTP)
	return mux
}

func (h *host) settingsText() []byte {
	text, _ := json.Marshal(h.settings) // strings and a number: it cannot fail
	return text
}

// goRoot is the folder of the Go toolchain.
func goRoot() string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// build builds the client in a folder and compresses it. It says so, since the first time takes a minute.
func build(client string, say io.Writer) ([]byte, error) {
	fmt.Fprintf(say, "building the client of %s ...\n", client)
	dir, err := os.MkdirTemp("", "netcode-web")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "client.wasm")
	command := exec.Command("go", "build", "-ldflags=-s -w", "-o", out, ".")
	command.Dir = client
	command.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if text, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the client does not build; run this command in its folder, examples/web: %w\n%s", err, text)
	}
	plain, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(plain)
	err = errors.Join(err, w.Close())
	return packed.Bytes(), err
}
