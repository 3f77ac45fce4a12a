//go:build js && wasm

package join

import (
	"context"
	"encoding/hex"
	"syscall/js"
	"time"

	"github.com/arche-netcode/netcode/examples/web/game"
	"github.com/arche-netcode/netcode/transport/web"
)

// Dial connects by netcodeSettings of the page. The URL is not used: a page knows its host.
func Dial(ctx context.Context, _ string) (socket game.Socket, by string, err error) {
	settings := js.Global().Get("netcodeSettings")
	hash, err := hex.DecodeString(settings.Get("Hash").String())
	if err != nil {
		return nil, "", err
	}
	conn, err := web.Dial(ctx, web.Config{
		WebTransport: settings.Get("WebTransport").String(), WebSocket: settings.Get("WebSocket").String(), Hashes: [][]byte{hash},
		Wait: time.Duration(settings.Get("Wait").Int()) * time.Millisecond,
	})
	if err != nil {
		return nil, "", err
	}
	return conn, conn.By(), nil
}

// Show is for programs: a page cannot serve another one.
func Show(*game.Player, string) (stop func() error, err error) {
	return func() error { return nil }, nil
}

// Report sets netcodePanel of the page, for tests, and for the curious at the console.
func Report(by string, p *game.Panel) {
	js.Global().Set("netcodePanel", map[string]any{
		"by": by, "connected": p.Connected, "tick": p.Tick, "hash": p.Hash, "entities": p.Entities, "bodies": p.Bodies,
		"replayed": p.Replayed, "ownX": p.OwnX, "ownY": p.OwnY,
	})
}

// Fail sets netcodeError of the page.
func Fail(err error) { js.Global().Set("netcodeError", err.Error()) }
