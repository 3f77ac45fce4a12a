package protocolpage_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

const sessionsDir = "../../testdata/sessions/"

// session is a golden session of a feature: what reaches a client over a bad link, and what it means, as lines of JSON.
type session struct {
	name, about string
	play        func(g *sessionGame)
}

// sessionGame is a server with a game, and a client that is written down.
type sessionGame struct {
	t      *testing.T
	name   string
	r      *rand.Rand
	net    *nettest.Net
	client *netcode.Client
	loop   *systems.ClientSystems
	world  *ecs.World // the client's
	runner *systems.Runner
	shows  []func(e ecs.Entity, id netcode.NetworkID, to map[string]any)
	known  map[string]string // JSON of the client's entities
	text   bytes.Buffer
}

// start begins a session of a server's protocol with a client's.
func (g *sessionGame) start(server, client *netcode.Protocol, config nettest.Config) {
	config.Protocol, config.Seed, config.Rate = server, 7, 30
	config.Link = transport.Link{Delay: 30 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: .2, Duplicate: .05}
	g.net = nettest.New(g.t, config)
	end, err := netcode.NewClient(client, netcode.Config{Random: rand.NewChaCha8([32]byte{7})})
	require.NoError(g.t, err)
	g.client = end
	g.loop = systems.NewClient(end, &written{g.net.Listen(), g}, g.net.Now)
	g.runner = systems.NewRunner(g.world, g.loop, 30)
	protocols := [][]string{client.Description()}
	if client != server {
		protocols = append(protocols, server.Description())
	}
	g.line(map[string]any{"protocols": protocols})
	require.NoError(g.t, end.Connect(g.net.Address()))
	g.net.Each(func() {
		g.line(map[string]any{"frame": g.net.Frame()})
		g.runner.Step()
		g.mean()
	})
	require.True(g.t, g.net.RunUntil(5*time.Second, func() bool { return end.State() == netcode.Connected }))
}

// written is a socket whose datagrams are written down as they come and go.
type written struct {
	transport.Conn
	g *sessionGame
}

// Send implements systems.Socket.
func (w *written) Send(to transport.Addr, datagram []byte) error {
	w.g.line(map[string]any{"up": hex.EncodeToString(datagram)})
	return w.Conn.Send(to, datagram)
}

// Receive implements systems.Socket.
func (w *written) Receive(buf []byte) (int, transport.Addr, error) {
	n, from, err := w.Conn.Receive(buf)
	if n > 0 {
		w.g.line(map[string]any{"down": hex.EncodeToString(buf[:n])})
	}
	return n, from, err
}

func (g *sessionGame) line(v map[string]any) {
	b, err := json.Marshal(v)
	require.NoError(g.t, err)
	g.text.Write(append(b, '\n'))
}

// did writes down what the client's game does.
func (g *sessionGame) did(what, name string, value any) {
	g.line(map[string]any{"do": what, "name": name, "value": plain(reflect.ValueOf(value))})
}

// heard writes down what came to the client's game.
func (g *sessionGame) heard(what, name string, value any) {
	g.line(map[string]any{"heard": what, "name": name, "value": value})
}

// shown has a component shown in the meaning of a session.
func shown[T any](g *sessionGame) {
	get := generic.NewMap1[T](g.world)
	id := ecs.ComponentID[T](g.world)
	g.shows = append(g.shows, func(e ecs.Entity, _ netcode.NetworkID, to map[string]any) {
		if ecs.Has(g.world, e, id) {
			to[reflect.TypeFor[T]().Name()] = g.plain(reflect.ValueOf(get.Get(e)).Elem())
		}
	})
}

// mean writes down the entities that are others than before this frame.
func (g *sessionGame) mean() {
	if g.client.Replica() == nil {
		return
	}
	now := map[string]string{}
	is := map[string]json.RawMessage{}
	for e := range g.client.Replica().All {
		local, here := g.loop.Entity(e.ID)
		if !here {
			continue
		}
		key, value := fmt.Sprintf("%dv%d", e.ID.Index, e.ID.Generation), map[string]any{}
		for _, show := range g.shows {
			show(local, e.ID, value)
		}
		b, err := json.Marshal(value)
		require.NoError(g.t, err)
		if now[key] = string(b); g.known[key] != string(b) {
			is[key] = b
		}
	}
	gone := []string{}
	for _, key := range slices.Sorted(maps.Keys(g.known)) {
		if _, here := now[key]; !here {
			gone = append(gone, key)
		}
	}
	g.known = now
	if len(is)+len(gone) > 0 {
		g.line(map[string]any{"is": is, "gone": gone})
	}
}

// plain is a value as JSON has it, an entity by its id.
func (g *sessionGame) plain(v reflect.Value) any {
	if e, ok := v.Interface().(ecs.Entity); ok {
		if id, ok := g.loop.ID(e); ok && !e.IsZero() {
			return fmt.Sprintf("%dv%d", id.Index, id.Generation)
		}
		return nil
	}
	if v.Kind() == reflect.Struct && !hasLen(v) {
		out := map[string]any{}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Tag.Get("net") != "-" && f.IsExported() && !f.Anonymous {
				out[f.Name] = g.plain(v.Field(i))
			}
		}
		return out
	}
	return plain(v)
}

func hasLen(v reflect.Value) bool { return v.CanAddr() && v.Addr().MethodByName("Len").IsValid() }

// plain is a value as JSON has it: 64 bits as text, a wire.Text as text, a wire.List as a list.
func plain(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		return plain(v.Elem())
	case reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Uint64:
		return strconv.FormatUint(v.Uint(), 10)
	case reflect.Array, reflect.Slice:
		out := []any{}
		for i := range v.Len() {
			out = append(out, plain(v.Index(i)))
		}
		return out
	case reflect.Struct:
		return plainStruct(v)
	}
	return v.Interface()
}

func plainStruct(v reflect.Value) any {
	if hasLen(v) {
		if text := v.Addr().MethodByName("String"); text.IsValid() {
			return text.Call(nil)[0].String()
		}
		out, at := []any{}, v.Addr().MethodByName("At")
		for i := range int(v.Addr().MethodByName("Len").Call(nil)[0].Int()) {
			out = append(out, plain(at.Call([]reflect.Value{reflect.ValueOf(i)})[0]))
		}
		return out
	}
	out := map[string]any{}
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			out[f.Name] = plain(v.Field(i))
		}
	}
	return out
}

// TestGoldenSessions compares the golden sessions of features. With -rewrite it writes them.
func TestGoldenSessions(t *testing.T) {
	for _, s := range sessions() {
		t.Run(s.name, func(t *testing.T) {
			g := &sessionGame{t: t, name: s.name, r: rand.New(rand.NewPCG(1, 2)), known: map[string]string{}, world: ecs.New()}
			g.line(map[string]any{"session": s.name, "about": s.about, "ms": 1000. / 30})
			s.play(g)
			file := sessionsDir + s.name + ".jsonl"
			if *rewrite {
				require.NoError(t, os.WriteFile(file, g.text.Bytes(), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			wants, is := bytes.Split(want, []byte("\n")), bytes.Split(g.text.Bytes(), []byte("\n"))
			for i := range wants {
				require.Less(t, i, len(is))
				require.Equal(t, string(wants[i]), string(is[i]), "line %d: go test ./internal/protocolpage -rewrite", i+1)
			}
			require.Len(t, is, len(wants))
		})
	}
}
