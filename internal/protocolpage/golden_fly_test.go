package protocolpage_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/wire"
)

// goldenPaint is written by the owner of an entity.
type goldenPaint struct {
	Hue  float32 `net:"angle,bits=12"`
	Coat uint16
}

func (p goldenPaint) String() string {
	return fmt.Sprintf("Paint{Hue:%s;Coat:%d}", short(p.Hue), p.Coat)
}

// goldenTint is written by whoever is named.
type goldenTint struct {
	Level int32
}

func (t goldenTint) String() string { return fmt.Sprintf("Tint{Level:%d}", t.Level) }

// goldenStick is an input with numbers of all sorts of widths.
type goldenStick struct {
	X    int8
	Aim  float32 `net:"angle,bits=10"`
	Jump bool
	Item uint8 `net:"min=0,max=4"`
	Seed uint64
}

func (s goldenStick) String() string {
	return fmt.Sprintf("Stick{X:%d;Aim:%s;Jump:%t;Item:%d;Seed:%d}", s.X, short(s.Aim), s.Jump, s.Item, s.Seed)
}

// goldenLook is an input that is set later than the other.
type goldenLook struct {
	Rot [4]float32 `net:"quat,bits=9"`
}

func (l goldenLook) String() string {
	return fmt.Sprintf("Look{Rot:%s,%s,%s,%s}", short(l.Rot[0]), short(l.Rot[1]), short(l.Rot[2]), short(l.Rot[3]))
}

// goldenRight and goldenWish have the fields of what the ends say about authority.
type goldenRight struct {
	Entity  wire.NetworkID
	Rows    uint64
	Renewed uint64
	Number  uint32
	Tick    uint32
}

func (r goldenRight) String() string {
	return fmt.Sprintf("netcode.right{Entity.Index:%d;Entity.Generation:%d;Rows:%d;Renewed:%d;Number:%d;Tick:%d}", r.Entity.Index, r.Entity.Generation, r.Rows, r.Renewed, r.Number, r.Tick)
}

type goldenWish struct {
	Entity wire.NetworkID
	Number uint32
	GiveUp bool
}

func (w goldenWish) String() string {
	return fmt.Sprintf("netcode.wish{Entity.Index:%d;Entity.Generation:%d;Number:%d;GiveUp:%t}", w.Entity.Index, w.Entity.Generation, w.Number, w.GiveUp)
}

// goldenInputs are the inputs of the golden protocol, by wire name.
func goldenInputs() (plans []*quantize.Plan) {
	for _, in := range []struct {
		of   reflect.Type
		name string
	}{{reflect.TypeFor[goldenLook](), "Look"}, {reflect.TypeFor[goldenStick](), "Stick"}} {
		plan, err := quantize.Compile(in.of, in.name)
		if err != nil {
			panic(err)
		}
		plans = append(plans, plan)
	}
	return plans
}

// input returns the meaning of an input message to this implementation, as text.
func (g *goldenRig) input(payload []byte) string {
	text := fmt.Sprintf("Input newest=%d behind=%d", binary.LittleEndian.Uint16(payload), binary.LittleEndian.Uint16(payload[2:]))
	r := wire.NewBitReader(payload[4:])
	for n, plan := range goldenInputs() {
		rows := make([]uint32, 64*plan.Lanes())
		count, ok := plan.ReadRun(&r, rows, 64, false)
		require.True(g.T, ok)
		var texts []string
		for i := range count {
			row := make([]byte, (plan.Bits()+7)/8)
			w := wire.NewBitWriter(row)
			plan.WriteRow(&w, rows[i*plan.Lanes():(i+1)*plan.Lanes()])
			w.Finish()
			if n == 0 {
				texts = append(texts, goldenValue[goldenLook](plan, row))
			} else {
				texts = append(texts, goldenValue[goldenStick](plan, row))
			}
		}
		text += fmt.Sprintf(" [%s]", strings.Join(texts, ", "))
	}
	require.True(g.T, r.Done())
	return text
}

// fly is a client with a player: inputs, a few of which are lost, and components that it writes itself.
func (g *goldenRig) fly() {
	g.about = len(g.watched)
	g.watch("pilot")
	pilot := g.Joined(g.protocol, netcode.Config{SendBudget: -1})
	steer := func(stick goldenStick) {
		require.NoError(g.T, input.Set(pilot.Client, &stick))
		g.Run(time.Second / 30)
	}
	for i := range 6 {
		steer(goldenStick{X: int8(i), Aim: float32(i) / 100, Jump: i%2 == 0, Item: uint8(i % 5), Seed: uint64(i) << 30})
		g.mute = i == 2
	}
	require.NoError(g.T, input.Set(pilot.Client, &goldenLook{Rot: [4]float32{0, 0, 0, 1}}))
	g.mute = true
	steer(goldenStick{X: -128, Aim: 3, Item: 4, Seed: 1<<64 - 1})
	g.mute = true
	require.NoError(g.T, input.Set(pilot.Client, &goldenLook{Rot: [4]float32{0.5, -0.5, 0.5, 0.5}}))
	steer(goldenStick{X: 127, Aim: -3, Jump: true})
	for x := range int8(4) { // Several in one packet, each a little different from the one before.
		g.mute = true
		steer(goldenStick{X: 126 - x, Aim: -3, Jump: true, Seed: 5})
	}
	g.mute, g.loseAll = true, true
	g.Run(time.Second / 5) // So long that inputs come late.
	g.mute, g.loseAll = false, false
	steer(goldenStick{X: 126, Jump: true, Seed: 5})
	for range 80 { // The server stands still, and its ticks slip.
		g.Now += rig.FrameTime
		g.ClientFrame(pilot)
	}
	steer(goldenStick{X: 125, Seed: 6})
	g.paint(pilot)
	pilot.Close()
	g.Until(func() bool { return pilot.State() == netcode.Disconnected })
	g.about = 0
	g.settled(2)
}

// paint lets the pilot write: first as the owner of an entity, then as the client that is named for it, until it is neither.
func (g *goldenRig) paint(pilot *rig.ClientEnd) {
	var id wire.NetworkID
	g.Change(func(s *snapshot.Store) {
		id = s.Spawn()
		s.Set(id, rowPaint, goldenLanes(s.Schema().Plan(rowPaint), goldenPaint{Coat: 1}))
		s.Set(id, rowTint, goldenLanes(s.Schema().Plan(rowTint), goldenTint{Level: -1}))
	})
	require.True(g.T, g.Server.SetOwner(id, pilot.ID()))
	authority.OnAsk(g.Server.Server, func(netcode.ClientID, netcode.NetworkID) bool { return true })
	g.Server.Game = func(s *snapshot.Store) {
		authority.Writes(g.Server.Server, func(_ netcode.ClientID, id netcode.NetworkID, row int, lanes []uint32) { s.Set(id, row, lanes) })
	}
	g.Until(func() bool { return authority.MayWrite[goldenPaint](pilot.Client, id) })
	for i := range 4 {
		require.NoError(g.T, authority.Write(pilot.Client, id, &goldenPaint{Hue: float32(i) / 8, Coat: uint16(100 * i)}))
		g.mute = i == 1
		g.Run(time.Second / 15)
	}
	require.NoError(g.T, authority.Ask(pilot.Client, id))
	g.Until(func() bool { return authority.MayWrite[goldenTint](pilot.Client, id) })
	require.NoError(g.T, authority.Write(pilot.Client, id, &goldenTint{Level: 1 << 20}))
	g.Run(time.Second / 10)
	require.True(g.T, authority.Correct(g.Server.Server, id))
	g.Run(time.Second / 10)
	require.NoError(g.T, authority.Write(pilot.Client, id, &goldenTint{Level: 1<<20 + 1}))
	require.NoError(g.T, authority.Release(pilot.Client, id))
	g.Run(time.Second / 10)
	require.True(g.T, g.Server.SetOwner(id, 0))
	g.Until(func() bool { return authority.Rights(pilot.Client, id).IsZero() })
	g.Run(time.Second / 5)
	require.Equal(g.T, "Tint{Level:1048577}", goldenRow(g.Server.Store().Schema(), rowTint, g.Server.Store().Row(id, rowTint)))
	require.Equal(g.T, "Paint{Hue:0.3742913;Coat:300}", goldenRow(g.Server.Store().Schema(), rowPaint, g.Server.Store().Row(id, rowPaint)))
	g.Server.Game = nil
	g.Change(func(s *snapshot.Store) { s.Despawn(id) })
}

// TestProtocolTextAgreesOnInputs reads input messages, whole, damaged and cut short, with the reader that is written from
// PROTOCOL.md alone: what it takes or refuses this implementation takes or refuses too, and it finds the same rows.
func TestProtocolTextAgreesOnInputs(t *testing.T) {
	g := &goldenRig{Rig: &rig.Rig{T: t}}
	entries := strings.Split(strings.TrimSpace(strings.ReplaceAll(goldenEntries(goldenProtocol()), "entry ", "")), "\n")
	text := newReader(entries[:len(entries)-1])
	random, took, refused := rand.New(rand.NewPCG(7, 9)), 0, 0
	compare := func(payload []byte) {
		got, err := attempted(func() string { return text.input(payload) })
		legal := goldenInputsLegal(payload)
		require.Equal(t, legal, err == nil, "%x: %v", payload, err)
		if legal {
			require.Equal(t, g.input(payload), got)
			took++
			return
		}
		refused++
	}
	for range 120 {
		b := make([]byte, 2048)
		w := wire.NewBitWriter(b[4:])
		count := 1 + random.IntN(6)
		for n, plan := range goldenInputs() {
			if n == 0 && count%2 == 0 {
				plan.WriteRun(&w, nil, 0)
				continue
			}
			plan.WriteRun(&w, goldenRun(plan, random, count), count)
		}
		payload := b[:4+w.Finish()]
		compare(payload)
		compare(payload[:len(payload)-1])
		for range 40 {
			at := 32 + random.IntN(8*len(payload)-32)
			payload[at/8] ^= 1 << (at % 8)
			compare(payload)
			payload[at/8] ^= 1 << (at % 8)
		}
	}
	require.Greater(t, took, 800)
	require.Greater(t, refused, 800)
}

// attempted turns what the reader panics with into an error.
func attempted(f func() string) (text string, err error) {
	defer func() {
		switch why := recover().(type) {
		case nil:
		case illegal:
			err = fmt.Errorf("%s", string(why))
		default:
			panic(why)
		}
	}()
	return f(), nil
}

// goldenRun is legal rows, each like the one before but for a few numbers.
func goldenRun(plan *quantize.Plan, random *rand.Rand, count int) (rows []uint32) {
	stick, look := goldenStick{}, goldenLook{Rot: [4]float32{0, 0, 0, 1}}
	for range count {
		switch random.IntN(4) {
		case 0:
			stick.X, stick.Seed = stick.X+int8(random.IntN(5)), stick.Seed+uint64(random.IntN(9))
		case 1:
			stick = goldenStick{X: int8(random.IntN(256) - 128), Aim: random.Float32(), Item: uint8(random.IntN(5)), Seed: random.Uint64()}
		case 2:
			stick.Jump = !stick.Jump
			look.Rot = [4]float32{random.Float32() - 0.5, random.Float32() - 0.5, random.Float32(), random.Float32()}
		}
		if plan.Name() == "Look" {
			rows = append(rows, goldenLanes(plan, look)...)
		} else {
			rows = append(rows, goldenLanes(plan, stick)...)
		}
	}
	return rows
}

// goldenInputsLegal tells if this implementation takes an input message of the golden protocol.
func goldenInputsLegal(payload []byte) bool {
	r, some := wire.NewBitReader(payload[4:]), 0
	for _, plan := range goldenInputs() {
		count, ok := plan.ReadRun(&r, make([]uint32, 64*plan.Lanes()), 64, false)
		if !ok || some > 0 && count > 0 && some != count {
			return false
		}
		some = max(some, count)
	}
	return some > 0 && r.Done()
}
