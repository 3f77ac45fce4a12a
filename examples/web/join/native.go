//go:build !js

package join

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/arche-netcode/netcode/examples/web/game"
	"github.com/arche-netcode/netcode/inspect/live"
	"github.com/arche-netcode/netcode/transport/queued"
	"github.com/arche-netcode/netcode/transport/websocket"
	"github.com/arche-netcode/netcode/transport/webtransport"
)

// Dial connects to the host with a URL, like "http://127.0.0.1:8080/", as a page does: by WebTransport, and if that fails or is slow, by WebSocket.
func Dial(ctx context.Context, url string) (socket game.Socket, by string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"settings", nil)
	if err != nil {
		return nil, "", err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	var o struct {
		WebTransport, WebSocket, Hash string
		Wait                          int
	}
	if err := json.NewDecoder(answer.Body).Decode(&o); err != nil {
		return nil, "", err
	}
	var hash [32]byte
	if _, err := hex.Decode(hash[:], []byte(o.Hash)); err != nil {
		return nil, "", err
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(o.Wait)*time.Millisecond)
	defer cancel()
	wt, fault := webtransport.Dial(limited, o.WebTransport, webtransport.Pin(hash), queued.Config{})
	if fault == nil {
		return wt, "WebTransport", nil
	}
	ws, err := websocket.Dial(ctx, o.WebSocket, queued.Config{})
	if err != nil {
		return nil, "", errors.Join(fault, err)
	}
	return ws, "WebSocket", nil
}

// Show serves a page about a player's client at an address of this machine, and prints its URL; with an empty address it does nothing.
func Show(p *game.Player, address string) (stop func() error, err error) {
	return live.ShowClient(p.Group, p.Simulation, address, os.Stdout)
}

// Report is for pages.
func Report(string, *game.Panel) {}

// Fail is for pages.
func Fail(error) {}
