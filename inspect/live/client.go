package live

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
)

// ClientFigures is the state of a client at one moment, as JSON for its page. It does not change after publishing.
type ClientFigures struct {
	At       float64 `json:"at"`       // Seconds on the client's clock.
	ID       uint32  `json:"id"`       // At the server; 0: not connected yet.
	State    string  `json:"state"`    // Connected, for example.
	Tick     int64   `json:"tick"`     // Of the client, which is ahead of the server.
	Rate     int     `json:"rate"`     // Network ticks per second.
	RTT      float64 `json:"rtt"`      // Milliseconds.
	Jitter   float64 `json:"jitter"`   // Milliseconds.
	Loss     float64 `json:"loss"`     // Share of recent packets to the server that were lost.
	Lead     float64 `json:"lead"`     // Time by which inputs come before their tick begins at the server, as it is aimed at, in milliseconds.
	Delay    float64 `json:"delay"`    // Time by which interpolated entities are shown late, in milliseconds.
	Sent     uint64  `json:"sent"`     // Bytes.
	Received uint64  `json:"received"` // Bytes.

	Predicts *predict.Stats    `json:"predicts"` // Nil without a simulation.
	Fields   map[string]uint64 `json:"fields"`   // Mispredictions by the first field that differed, such as Position.X.
	Newest   string            `json:"newest"`   // The newest misprediction in words.
}

// mostFields is the maximum number of different fields that are counted.
const mostFields = 256

// ClientPage shows a running client in a browser: its lead, its delays, and what it mispredicted. It is an http.Handler. A
// system of the client's loop reads the client four times a second; the page gets what that published.
type ClientPage struct {
	group      *systems.ClientSystems
	simulation *predict.Simulation
	newest     atomic.Pointer[ClientFigures]
	published  time.Duration
	fields     map[string]uint64
	last       string
}

// NewClientPage returns the page of a client's loop, before its first frame. simulation is nil for a client that predicts
// nothing.
func NewClientPage(group *systems.ClientSystems, simulation *predict.Simulation) *ClientPage {
	p := &ClientPage{group: group, simulation: simulation, published: -publishEvery, fields: map[string]uint64{}}
	if simulation != nil {
		simulation.OnMisprediction(p.note)
	}
	p.newest.Store(&ClientFigures{State: netcode.Disconnected.String(), Fields: map[string]uint64{}})
	group.Add(tick.PostLateUpdate, systems.Func(func(*netecs.World) { p.publish() }))
	return p
}

// note counts a misprediction by its field.
func (p *ClientPage) note(m predict.Misprediction) {
	name := m.Component
	switch {
	case name == "":
		name = "the whole entity"
	case m.Field != "":
		name += "." + m.Field
	}
	if _, known := p.fields[name]; known || len(p.fields) < mostFields {
		p.fields[name]++
	}
	p.last = m.String()
}

// publish reads the client, if it is time.
func (p *ClientPage) publish() {
	now, c := p.group.Receive.Now(), p.group.Client
	if now-p.published < publishEvery {
		return
	}
	p.published = now
	rtt, jitter := c.RTT()
	rate := c.TickRate()
	span := func(s tick.Span) float64 { return millis(s.Duration(rate)) }
	f := &ClientFigures{
		At: now.Seconds(), ID: uint32(c.ID()), State: c.State().String(), Tick: int64(c.Tick()), Rate: rate,
		RTT: millis(rtt), Jitter: millis(jitter), Loss: c.Loss(), Lead: span(c.Lead()), Delay: span(c.PresentDelay()),
		Sent: c.Stats().Packets.BytesSent, Received: c.Stats().Packets.BytesReceived,
		Fields: maps.Clone(p.fields), Newest: p.last,
	}
	if p.simulation != nil {
		stats := p.simulation.Stats()
		f.Predicts = &stats
	}
	p.newest.Store(f)
}

// clientPage is the page.
const clientPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>client</title>
<style>
body { font: 14px system-ui, sans-serif; margin: 1em 2em; }
table { border-collapse: collapse; margin: 0 0 1.5em; }
td { padding: 2px 14px 2px 0; }
td + td { text-align: right; font-variant-numeric: tabular-nums; }
</style>
<h1 id="head">client</h1>
<table id="line"></table>
<h2>Prediction</h2>
<table id="prediction"></table>
<h2>Mispredictions by field</h2>
<table id="fields"></table>
<p id="newest"></p>
<script>
"use strict";
const $ = id => document.getElementById(id);
const fill = (id, rows) => $(id).replaceChildren(...rows.map(cells => {
  const row = document.createElement("tr");
  for (const text of cells) row.appendChild(document.createElement("td")).textContent = text;
  return row;
}));
let before = null;
async function show() {
  try {
    const f = await (await fetch("client")).json(), seconds = before ? f.at - before.at : 0;
    const rate = what => seconds > 0 ? ((f[what] - before[what]) / seconds / 1000).toFixed(1) : "-";
    $("head").textContent = "client " + f.id + ", " + f.state + ", tick " + f.tick;
    fill("line", [["round trip ms", f.rtt.toFixed(1)], ["jitter ms", f.jitter.toFixed(1)], ["loss %", (100 * f.loss).toFixed(1)], ["lead ms", f.lead.toFixed(1)],
      ["delay of what is shown ms", f.delay.toFixed(1)], ["kB/s out", rate("sent")], ["kB/s in", rate("received")]]);
    fill("prediction", Object.entries(f.predicts || { "no simulation": "-" }));
    fill("fields", Object.entries(f.fields).sort((a, b) => b[1] - a[1]));
    $("newest").textContent = f.newest;
    if (f.at !== (before || {}).at) before = f;
  } catch (e) {
    $("head").textContent = "the client does not answer";
  }
}
show();
setInterval(show, 500);
</script>
</html>
`

// ServeHTTP implements http.Handler. It answers GET only, to names of this machine only: / is the page, /client its
// ClientFigures.
func (p *ClientPage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.Error(w, "the page is read only: use GET", http.StatusMethodNotAllowed)
		return
	case !isLocal(r.Host):
		http.Error(w, "the page answers to 127.0.0.1, ::1 and localhost only", http.StatusForbidden)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch r.URL.Path {
	case "/":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-ancestors 'none'")
		_, _ = io.WriteString(w, clientPage)
	case "/client":
		answer(w, p.newest.Load())
	default:
		http.NotFound(w, r)
	}
}

// ShowClient serves the page of a client at a loopback address and prints its URL to out, for a program with a flag. With an
// empty address it does nothing. stop ends the page.
func ShowClient(group *systems.ClientSystems, simulation *predict.Simulation, address string, out io.Writer) (stop func() error, err error) {
	if address == "" {
		return func() error { return nil }, nil
	}
	url, stop, err := listenAt(address, NewClientPage(group, simulation), false)
	if err != nil {
		return nil, err
	}
	if _, err = fmt.Fprintln(out, "look inside at", url); err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}
