package main

import (
	"context"
	_ "embed"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"

	"github.com/arche-netcode/netcode/examples/web/game"
	"github.com/arche-netcode/netcode/examples/web/site"
)

//go:embed index.html
var page string

//go:embed field.js
var fieldJS string

//go:embed js.html
var pageJS string

// host serves page and game.
type host struct {
	*site.Site
	match *game.Match
}

// options are those of a host that listens at an address, with a client that site.Build built.
func options(wasm []byte, address string) site.Options {
	return site.Options{Listen: address, WASM: wasm, JavaScript: "../../clients/js/src", Protocol: game.NewProtocol}
}

// listen makes a host.
func listen(o site.Options, loss float64, bodies int) (*host, error) {
	s, err := site.Listen(o)
	if err != nil {
		return nil, err
	}
	h := &host{Site: s}
	h.match, err = game.NewCrowd(&lossy{s.Socket, loss, rand.New(rand.NewPCG(1, 2))}, bodies)
	h.Page("GET /{$}", page)
	h.Page("GET /js", pageJS)
	h.Mux.HandleFunc("GET /field.js", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = io.WriteString(w, fieldJS)
	})
	return h, err
}

// run serves until ctx is done.
func (h *host) run(ctx context.Context) error {
	go h.Serve()
	return errors.Join(h.match.Run(ctx), h.Close()) // At its end the match closes the socket.
}
