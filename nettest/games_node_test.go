package nettest_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/transport"
)

// TestGamesInNode plays random games with a client of clients/js among the others, on the virtual clock and over the bad links. When links
// have healed, each number, text and list that the model says it sees is there, and nothing else. Its messages, and those to it, come as
// they were promised.
func TestGamesInNode(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("no node here: the games of the JavaScript client need it")
	}
	count := max(*games/4, 1)
	if testing.Short() {
		count = min(count, 2)
	}
	met := map[string]int{}
	for n := range uint64(count) {
		g := newMatch(t, *gameSeed+n, met)
		p := newGameGuest(g)
		g.net.SetLink(gameLink{delay: 20 * time.Millisecond}.link())
		for range 30 {
			g.net.Step()
		}
		for range 2 {
			g.phase()
			g.settle()
			p.settle()
		}
	}
	t.Log(met)
	require.NotZero(t, met["guest: entities"])
	require.NotZero(t, met["guest: words"])
}

// gameGuest is a client in another process. It runs in step with the net.
type gameGuest struct {
	g     *match
	r     *rand.Rand
	conn  transport.Conn
	in    io.Writer
	out   *bufio.Reader
	sleep int
	frame guestFrame
	last  guestAnswer
}

type (
	guestFrame struct {
		Now     float64  `json:"now"` // ms
		In      []string `json:"in"`
		Connect bool     `json:"connect"`
		Write   bool     `json:"write"`
		Send    []any    `json:"send"`
		World   bool     `json:"world"`
	}
	guestAnswer struct {
		Out    []string
		ID     netcode.ClientID
		Closed string
		Heard  []struct {
			Name  string
			Value gameWord
		}
		World map[string]guestEntity
	}
	guestEntity struct {
		Index, Generation uint32
		Rows              map[string][]uint32
		Tails             map[string][]any
		Collections       map[string][]any
	}
)

func newGameGuest(g *match) *gameGuest {
	lock := filepath.Join(g.t.TempDir(), "game.lock")
	file, err := os.Create(lock)
	require.NoError(g.t, err)
	require.NoError(g.t, g.protocol.Protocol.WriteSchema(file))
	require.NoError(g.t, file.Close())
	cmd := exec.Command("node", "../clients/js/tools/guest.mjs", lock, strconv.FormatUint(g.seed, 10))
	in, err := cmd.StdinPipe()
	require.NoError(g.t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(g.t, err)
	cmd.Stderr = os.Stderr
	require.NoError(g.t, cmd.Start())
	g.t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	p := &gameGuest{g: g, r: rand.New(rand.NewPCG(g.seed, 200)), conn: g.net.Listen(), in: in, out: bufio.NewReader(out)}
	p.frame.Connect = true
	g.net.Each(p.step)
	return p
}

// step plays a frame, or sleeps: then datagrams wait.
func (p *gameGuest) step() {
	if p.sleep > 0 {
		p.sleep--
		return
	}
	if p.g.playing && p.r.IntN(300) == 0 {
		p.sleep = p.r.IntN(60)
	}
	buf := make([]byte, 2048)
	p.frame.In = p.frame.In[:0]
	for {
		n, _, err := p.conn.Receive(buf)
		p.g.hold(err == nil, err)
		if n == 0 {
			break
		}
		p.frame.In = append(p.frame.In, hex.EncodeToString(buf[:n]))
	}
	p.frame.Now = float64(p.g.net.Now()) / float64(time.Millisecond)
	p.frame.Write = p.g.playing && p.g.protocol.writes
	p.speak()
	line, err := json.Marshal(&p.frame)
	p.g.hold(err == nil, err)
	_, err = fmt.Fprintf(p.in, "%s\n", line)
	p.g.hold(err == nil, "the guest is gone:", err)
	answer, err := p.out.ReadBytes('\n')
	p.g.hold(err == nil, "the guest is gone:", err)
	p.last = guestAnswer{}
	numbers := json.NewDecoder(bytes.NewReader(answer))
	numbers.UseNumber()
	p.g.hold(numbers.Decode(&p.last) == nil, string(answer))
	p.frame = guestFrame{In: p.frame.In}
	if p.last.Closed != "" {
		p.g.hold(false, "the guest's connection ended:", p.last.Closed)
	}
	for _, out := range p.last.Out {
		datagram, err := hex.DecodeString(out)
		p.g.hold(err == nil, err)
		_ = p.conn.Send(p.g.net.Address(), datagram)
	}
	for _, w := range p.last.Heard {
		if w.Name == "gameWord" {
			p.g.heard(gameTalk{p.last.ID, false, gameTopic{w.Value.Mode, w.Value.ToAll}}, &w.Value)
			p.g.met["guest: words"]++
		}
	}
}

// speak has the guest say something to the server.
func (p *gameGuest) speak() {
	if p.last.ID == 0 || !p.g.playing || p.r.IntN(20) > 0 {
		return
	}
	mode := uint8(p.r.IntN(len(gameModes)))
	p.g.talks.say(gameTalk{p.last.ID, true, gameTopic{mode, false}}, func(m *gameWord, _ ...netcode.Option) error {
		p.frame.Send = append(p.frame.Send, []any{"gameWord", m, map[string]any{"mode": mode, "channel": mode}})
		return nil
	})
}

// settle gives the guest time to be what it must be.
func (p *gameGuest) settle() {
	p.sleep = 0
	what := "it had no time"
	settled := p.g.net.RunUntil(20*time.Second, func() bool {
		p.frame.World = p.g.net.Frame()%10 == 9
		if p.last.World != nil {
			what = p.differs()
		}
		return what == ""
	})
	p.g.hold(settled, "the guest:", what)
}

func (p *gameGuest) differs() string {
	if p.last.ID == 0 {
		return "it is not connected"
	}
	g, want := p.g, map[string]bool{}
	for _, e := range g.everybody() {
		key := strconv.Itoa(int(e.id.Index))
		parts, visible := g.sight.sees(p.last.ID, g.world, e.Entity, e.id)
		if !visible {
			want[key] = want[key] || g.sight.way == wayKeep
			continue
		}
		want[key] = true
		if what := p.entityDiffers(e, p.last.World[key], parts); what != "" {
			return fmt.Sprintf("%v: %s", e.id, what)
		}
		g.met["guest: entities"]++
	}
	for key := range p.last.World {
		if !want[key] && g.sight.way != wayKeep {
			return fmt.Sprintf("entity %s is there", key)
		}
	}
	return g.talks.missing(p.last.ID)
}

// entityDiffers says in what an entity that the guest may see is another there.
func (p *gameGuest) entityDiffers(e *gameEntity, is guestEntity, parts partMask) string {
	store := p.g.net.Server.Store()
	if is.Index != e.id.Index || is.Generation != e.id.Generation {
		return fmt.Sprintf("it is not there, but %dv%d", is.Index, is.Generation)
	}
	v := p.g.value(e)
	for part, row := range p.g.protocol.rows {
		plan := store.Schema().Plan(row)
		lanes, has := is.Rows[plan.Name()]
		if should := v[part] != nil && parts.has(part); should != has {
			return fmt.Sprintf("%s is there: %v", plan.Name(), has)
		} else if !should {
			continue
		}
		want := slices.Clone(store.Row(e.id, row))
		for _, lane := range plan.Refs() {
			id := netcode.NetworkID{Index: want[lane], Generation: want[lane+1]}
			if !p.visible(id) {
				want[lane], want[lane+1] = 0, 0 // who is not shown is not named
			}
		}
		if tailOf(v[part]) != nil { // The store has texts and lists behind the numbers.
			want = want[:min(len(lanes), len(want))]
		}
		if !slices.Equal(want, lanes) {
			return fmt.Sprintf("%s should be %v and is %v", plan.Name(), want, lanes)
		}
		if want, has := fmt.Sprint(tailOf(v[part])), fmt.Sprint(is.Tails[plan.Name()]); want != has {
			return fmt.Sprintf("%s should have %s and has %s", plan.Name(), want, has)
		}
	}
	return p.thingsDiffer(e, is)
}

func (p *gameGuest) visible(id netcode.NetworkID) bool {
	for _, e := range p.g.everybody() {
		if e.id == id {
			_, visible := p.g.sight.sees(p.last.ID, p.g.world, e.Entity, id)
			return visible
		}
	}
	return false
}

// tailOf returns the texts and lists of a part, as the guest tells them.
func tailOf(part any) (tail []any) {
	switch v := part.(type) {
	case gameExact:
		items := []any{}
		for _, item := range v.Bag.All() {
			items = append(items, map[string]any{"Row": []any{item.Kind}, "Tail": []any{item.Label.String()}})
		}
		return []any{v.Name.String(), items}
	case gameMine:
		return []any{v.T.String()}
	}
	return nil
}

// thingsDiffer says what collection of an entity is another at the guest.
func (p *gameGuest) thingsDiffer(e *gameEntity, is guestEntity) string {
	list, set, table := []any{}, map[any]bool{}, map[any]any{}
	for _, v := range e.list {
		list = append(list, v)
	}
	for v := range e.set {
		set[fmt.Sprint(v)] = true
	}
	for k, v := range e.table {
		table[fmt.Sprint(k)] = fmt.Sprint(v)
	}
	hasSet, hasTable := map[any]bool{}, map[any]any{}
	for _, v := range is.Collections["gameSet"] {
		hasSet[fmt.Sprint(v)] = true
	}
	for _, v := range is.Collections["gameTable"] {
		row, _ := v.(map[string]any)
		hasTable[fmt.Sprint(row["Key"])] = fmt.Sprint(row["Value"])
	}
	want, has := fmt.Sprint(list, set, table), fmt.Sprint(append([]any{}, is.Collections["gameList"]...), hasSet, hasTable)
	if want != has {
		return fmt.Sprintf("collections should be %s and are %s", want, has)
	}
	return ""
}
