//go:build js && wasm

package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"syscall/js"

	"github.com/arche-netcode/netcode/examples/brawl/screen"
	"github.com/arche-netcode/netcode/examples/web/join"
)

func main() {
	global := js.Global()
	query := global.Get("URLSearchParams").New(global.Get("location").Get("search"))
	ask := func(key string) string {
		if v := query.Call("get", key); !v.IsNull() {
			return v.String()
		}
		return ""
	}
	c := choice{name: ask("name"), watch: ask("watch") != "", auto: ask("auto") != "", secret: secret(global)}
	if c.name == "" {
		c.name = fmt.Sprint("guest ", c.secret[:3])
	}
	if also := global.Get("netcodeSettings").Get("Also").String(); also != "" {
		c.note = "on another machine: " + also
	}
	c.panel = func(p screen.Panel) {
		text, _ := json.Marshal(p) // Numbers and texts: it cannot fail.
		global.Set("brawlPanel", string(text))
		global.Get("document").Call("getElementById", "wait").Get("style").Set("display", "none")
	}
	err := play(c)
	if err == nil {
		err = fmt.Errorf("the game is over")
	}
	join.Fail(err)
	said := global.Get("document").Call("getElementById", "wait")
	said.Get("style").Set("display", "flex")
	said.Set("textContent", err.Error()+". Load the page again to come back.")
}

// secret returns the identity of this tab's player: a page that is loaded again is the same player, and another tab is another one.
func secret(global js.Value) string {
	storage := global.Get("sessionStorage")
	if text := storage.Call("getItem", "brawl"); !text.IsNull() && len(text.String()) == 26 {
		return text.String()
	}
	fresh := rand.Text()
	storage.Call("setItem", "brawl", fresh)
	return fresh
}
