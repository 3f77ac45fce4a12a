package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/examples/web/browsers"
)

// tab is one page with the game.
type tab struct {
	*browsers.Tab
	t *testing.T
}

// openTab opens a page.
func openTab(t *testing.T, b browsers.Browser, url string) *tab {
	return &tab{browsers.OpenTab(t, b, url), t}
}

// panel is netcodePanel of the page.
type panel struct {
	By, Hash, Text             string
	Connected                  bool
	Tick                       int64
	Entities, Bodies, Replayed int
	OwnX, OwnY                 float32
	Now, Spent                 float64 // Milliseconds: the clock of the page, and what the client took of its frames.
	Failure                    string
}

// panel reads the page's figures; nil before the game draws.
func (p *tab) panel() (now *panel) {
	p.Read("globalThis.netcodeError ? {failure: netcodeError} : globalThis.netcodePanel", &now)
	if now != nil {
		require.Empty(p.t, now.Failure)
	}
	return now
}
