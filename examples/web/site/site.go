package site

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/websocket"
	"github.com/arche-netcode/netcode/transport/webtransport"
)

// Options are those of a Site.
type Options struct {
	Listen     string // Address of the pages: ":8080" is for the local network, "127.0.0.1:8080" for this machine.
	WASM       []byte // The client that Build built.
	JavaScript string // The folder clients/js/src, served as /netcode/.
	Protocol   func() *netcode.Protocol
	Wait       time.Duration // Until clients give WebTransport up; 0: 3 s.
	Blocked    string        // An address where nobody answers, told to clients for WebTransport, as where UDP is blocked.
}

// Site serves pages, and is the socket of their game.
type Site struct {
	Socket *transport.Joined
	Mux    *http.ServeMux // For more files.

	options Options
	names   []string
	udpPort string
	hash    string
	ws      *websocket.Server
	page    net.Listener
	http    *http.Server
}

// Listen makes a site, which listens at once. Serve answers.
func Listen(o Options) (*Site, error) {
	o.Wait = cmp.Or(o.Wait, 3*time.Second)
	s := &Site{options: o, Mux: http.NewServeMux(), names: localNames()}
	certificate, hash, err := webtransport.NewCertificate(time.Now(), s.names...)
	if err != nil {
		return nil, err
	}
	s.hash = hex.EncodeToString(hash[:])
	if s.page, err = net.Listen("tcp", o.Listen); err != nil {
		return nil, err
	}
	at, udp := s.page.Addr().(*net.TCPAddr), ":0"
	if !at.IP.IsUnspecified() {
		s.names, udp = []string{at.IP.String()}, net.JoinHostPort(at.IP.String(), "0")
	}
	var origins []string
	for _, name := range s.names {
		origins = append(origins, net.JoinHostPort(name, strconv.Itoa(at.Port)))
	}
	wt, err := webtransport.Listen(udp, webtransport.Config{TLS: &tls.Config{Certificates: []tls.Certificate{certificate}}, Origins: origins})
	if err != nil {
		return nil, errors.Join(err, s.page.Close())
	}
	s.udpPort = strconv.Itoa(int(wt.LocalAddr().IP.Port()))
	// near keeps the internet away from the WebSocket, so it counts as bound to an address of this machine.
	s.ws = websocket.NewServer(transport.MustParseAddr(net.JoinHostPort("127.0.0.1", strconv.Itoa(at.Port))), websocket.Config{})
	s.Socket = transport.Join(wt, s.ws)
	s.http = &http.Server{Handler: near(s.Mux), ConnContext: websocket.ShortBuffer, ReadHeaderTimeout: 10 * time.Second}
	s.routes()
	return s, nil
}

// Serve answers until Close.
func (s *Site) Serve() {
	if err := s.http.Serve(s.ws.Guard(s.page)); !errors.Is(err, http.ErrServerClosed) {
		fmt.Fprintln(os.Stderr, "page:", err)
	}
}

// Run serves pages and game until ctx is done. The loop closes the socket.
func (s *Site) Run(ctx context.Context, loop *systems.Runner) error {
	go s.Serve()
	err := loop.Run(ctx)
	return errors.Join(err, s.Close())
}

// Close ends the pages.
func (s *Site) Close() error { return s.http.Close() }

// URLs are the addresses of the site: that for this machine, then those for others.
func (s *Site) URLs() (all []string) {
	port := strconv.Itoa(s.page.Addr().(*net.TCPAddr).Port)
	for _, name := range s.names {
		if name != "localhost" {
			all = append(all, "http://"+net.JoinHostPort(name, port)+"/")
		}
	}
	return all
}
