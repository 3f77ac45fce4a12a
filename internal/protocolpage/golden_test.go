package protocolpage_test

import (
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/internal/rig"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// rewrite makes TestProtocolGoldenSession write the file instead of comparing with it: go test ./internal/protocolpage -rewrite.
var rewrite = flag.Bool("rewrite", false, "write testdata/session.golden anew")

const goldenSession = "../../testdata/session.golden"

type goldenBody struct {
	X    float32 `net:"min=-512,max=512,step=0.002"`
	Y    float32
	Rot  [4]float32 `net:"quat,bits=9"`
	Turn float32    `net:"angle,bits=10"`
}

func (b goldenBody) String() string {
	return fmt.Sprintf("Body{X:%s;Y:%s;Rot:%s,%s,%s,%s;Turn:%s}", short(b.X), short(b.Y),
		short(b.Rot[0]), short(b.Rot[1]), short(b.Rot[2]), short(b.Rot[3]), short(b.Turn))
}

type goldenHealth struct {
	Points int16 `net:"min=-5,max=500"`
	Total  int64
	Charge float64
	Down   bool
	Wide   uint64 `net:"min=10,max=4294967306"`
}

func (h goldenHealth) String() string {
	return fmt.Sprintf("Health{Points:%d;Total:%d;Charge:%s;Down:%t;Wide:%d}", h.Points, h.Total,
		strconv.FormatFloat(h.Charge, 'g', -1, 64), h.Down, h.Wide)
}

type goldenFrozen struct{}

func (goldenFrozen) String() string { return "Frozen{}" }

type goldenChat struct {
	From uint32
	Text [5]int8
	Loud bool
}

func (c goldenChat) String() string {
	return fmt.Sprintf("Chat{From:%d;Text[0]:%d;Text[1]:%d;Text[2]:%d;Text[3]:%d;Text[4]:%d;Loud:%t}",
		c.From, c.Text[0], c.Text[1], c.Text[2], c.Text[3], c.Text[4], c.Loud)
}

type goldenBuy struct {
	Item uint16 `net:"min=0,max=1000"`
}

func (b goldenBuy) String() string { return fmt.Sprintf("Buy{Item:%d}", b.Item) }

type goldenSold struct {
	Gold int32
}

func (s goldenSold) String() string { return fmt.Sprintf("Sold{Gold:%d}", s.Gold) }

// goldenMap is larger than a packet, and mostly zeros so that the file stays small.
type goldenMap struct {
	Cells [900]uint64
}

func short(v float32) string { return strconv.FormatFloat(float64(v), 'g', -1, 32) }

// goldenGear is of what is not quite a float.
type goldenGear struct {
	Grip float32 `net:"half"`
	Lean float64 `net:"axis"`
	Turn float64 `net:"angle,bits=1"`
}

func (g goldenGear) String() string {
	return fmt.Sprintf("Gear{Grip:%s;Lean:%s;Turn:%s}", short(g.Grip), strconv.FormatFloat(g.Lean, 'g', -1, 64),
		strconv.FormatFloat(g.Turn, 'g', -1, 64))
}

// goldenDrift is nothing but floats that travel exactly.
type goldenDrift struct {
	X, Y, Z float32
}

func (d goldenDrift) String() string {
	return fmt.Sprintf("Drift{X:%s;Y:%s;Z:%s}", short(d.X), short(d.Y), short(d.Z))
}

// goldenLeash names another entity.
type goldenLeash struct {
	To    wire.NetworkID `net:"entity"`
	Slack uint8
}

// goldenChild is a relation: its target is a field without memory.
type goldenChild generic.SeatTie

// Rows of the golden protocol, by wire name.
const (
	rowBody = iota
	rowChild
	rowDrift
	rowFrozen
	rowGear
	rowHealth
	rowLeash
	rowPaint
	rowTint
)

func goldenProtocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[goldenHealth](p, netcode.Named("Health"))
	netcode.Replicate[goldenBody](p, netcode.Named("Body"))
	netcode.Replicate[goldenDrift](p, netcode.Named("Drift"))
	netcode.Replicate[goldenFrozen](p, netcode.Named("Frozen"))
	netcode.Replicate[goldenGear](p, netcode.Named("Gear"))
	netcode.Replicate[goldenLeash](p, netcode.Named("Leash"))
	netcode.Replicate[goldenChild](p, netcode.Named("Child"))
	netcode.Replicate[goldenPaint](p, netcode.Named("Paint"), authority.WrittenBy(authority.OwnerWrites))
	netcode.Replicate[goldenTint](p, netcode.Named("Tint"), authority.WrittenBy(authority.NamedWrites))
	input.Register[goldenStick](p, netcode.Named("Stick"))
	input.Register[goldenLook](p, netcode.Named("Look"))
	netcode.Handle(p, func(*message.Context, *goldenMap) {}, netcode.Named("Map"), netcode.FromServer(), netcode.Over(netcode.ReliableOrdered),
		netcode.AtStage(tick.EarlyUpdate))
	netcode.Handle(p, func(*message.Context, *goldenChat) {}, netcode.Named("Chat"))
	netcode.Answer(p, func(_ *netcode.Context, buy *goldenBuy, sold *goldenSold) error {
		if buy.Item > 10 {
			return errors.New("sold out")
		}
		sold.Gold = -5 * int32(buy.Item)
		return nil
	}, netcode.FromClient(), netcode.OnChannel(7), netcode.Named("Buy"), netcode.NamedAnswer("Sold"))
	return p
}

// goldenLanes is the row of a component, taken through the payload that it would have as a message.
func goldenLanes[T any](plan *quantize.Plan, v T) []uint32 {
	codec, err := message.NewCodec[T](plan.Name(), nil)
	if err != nil {
		panic(err)
	}
	payload := make([]byte, codec.Size())
	if _, err := codec.Encode(&message.Scratch{}, payload, &v); err != nil {
		panic(err)
	}
	lanes, r := make([]uint32, plan.Lanes()), wire.NewBitReader(payload)
	plan.ReadRow(&r, lanes)
	return lanes
}

// goldenValue reads a payload as the meaning of a type.
func goldenValue[T fmt.Stringer](plan *quantize.Plan, payload []byte) (text string) {
	codec, err := message.NewCodec(plan.Name(), func(_ *message.Context, v *T) { text = (*v).String() })
	if err != nil || !codec.Handle(&message.Context{}, payload) {
		panic(fmt.Sprint("not a payload of ", plan.Name(), ": ", err))
	}
	return text
}

// goldenRow is the meaning of a row.
func goldenRow(schema *snapshot.Schema, row int, lanes []uint32) string {
	plan := schema.Plan(row)
	payload := make([]byte, (plan.Bits()+7)/8)
	w := wire.NewBitWriter(payload)
	plan.WriteRow(&w, lanes)
	w.Finish()
	who := func(at int) string {
		if lanes[at+1] == 0 {
			return "nobody"
		}
		return wire.NetworkID{Index: lanes[at], Generation: lanes[at+1]}.String()
	}
	switch row {
	case rowBody:
		return goldenValue[goldenBody](plan, payload)
	case rowChild:
		return fmt.Sprintf("Child{Seat:%d;target:%s}", lanes[0], who(1))
	case rowDrift:
		return goldenValue[goldenDrift](plan, payload)
	case rowFrozen:
		return goldenValue[goldenFrozen](plan, payload)
	case rowGear:
		return goldenValue[goldenGear](plan, payload)
	case rowLeash:
		return fmt.Sprintf("Leash{To:%s;Slack:%d}", who(0), lanes[2])
	case rowPaint:
		return goldenValue[goldenPaint](plan, payload)
	case rowTint:
		return goldenValue[goldenTint](plan, payload)
	}
	return goldenValue[goldenHealth](plan, payload)
}

// TestProtocolGoldenSession compares every datagram of a small session, and what it means, with the file that PROTOCOL.md
// names. A change of the file is a change of the protocol.
func TestProtocolGoldenSession(t *testing.T) {
	p := goldenProtocol()
	g := &goldenRig{Rig: rig.New(t, p, netcode.Config{SendBudget: -1, CatchUp: 32}), protocol: p}
	g.Tamper, g.Waited = g.carry, 3*time.Millisecond
	g.Server.SetInterest(&g.interest)
	g.watch("client")
	g.client = g.Joined(p, netcode.Config{SendBudget: -1})
	g.play()
	g.talk()
	g.move()
	g.crowd()
	g.drift()
	g.far()
	g.fly()
	g.rest()

	g.watch("stranger")
	other := netcode.NewProtocol()
	netcode.Replicate[goldenHealth](other, netcode.Named("Body"))
	stranger := g.Join(other, netcode.Config{})
	g.Until(func() bool { return stranger.State() == netcode.Disconnected })
	require.ErrorIs(t, stranger.Err(), errs.ReasonWrongProtocol)
	g.part()
	require.Len(t, g.Server.Errors, 1)
	require.ErrorAs(t, g.Server.Errors[0], new(*errs.ProtocolError))

	text := "# A session by PROTOCOL.md, section 17. Written by go test ./internal/protocolpage -rewrite.\n" + goldenEntries(p) + g.text.String()
	if *rewrite {
		require.NoError(t, os.WriteFile(goldenSession, []byte(text), 0o644))
	}
	want, err := os.ReadFile(goldenSession)
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(want), "\n"), strings.Split(text, "\n"))
}

// goldenEntries is the description of the golden protocol.
func goldenEntries(p *netcode.Protocol) string {
	text := ""
	for row := range p.Schema().Rows() {
		text += "entry component " + string(p.Schema().Plan(row).Describe(nil)) + map[int]string{rowPaint: "[owner]", rowTint: "[named]"}[row] + "\n"
	}
	for _, plan := range goldenInputs() {
		text += "entry input " + string(plan.Describe(nil)) + "[64]\n"
	}
	for _, m := range []struct {
		of         reflect.Type
		name, rest string
	}{
		{reflect.TypeFor[goldenBuy](), "Buy", "[from client;Reliable 7][question]"},
		{reflect.TypeFor[goldenChat](), "Chat", "[both ways;Unreliable 0]"},
		{reflect.TypeFor[goldenMap](), "Map", "[from server;ReliableOrdered 0]"},
		{reflect.TypeFor[goldenSold](), "Sold", "[both ways;Reliable 0][answer]"},
		{reflect.TypeFor[goldenRight](), "netcode.right", "[from server;ReliableOrdered 63]"},
		{reflect.TypeFor[goldenWish](), "netcode.wish", "[from client;ReliableOrdered 63]"},
	} {
		plan, err := quantize.Compile(m.of, m.name)
		if err != nil {
			panic(err)
		}
		text += "entry message " + string(plan.Describe(nil)) + m.rest + "\n"
	}
	return goldenLimits(p, text) + text + fmt.Sprintf("hash %016x\n", p.Hash())
}

// goldenLimits is the first entry: the one with which the hash comes out. It names the tables that state is coded with, if
// any.
func goldenLimits(p *netcode.Protocol, rest string) string {
	limits := "entry limits netcode{version:1;acks:33;rows:64;entities:1048576;window:64..4096;packet:256..8192;" +
		"reliable:1024;credit:131072;fragments:80"
	ends := []string{"}\n"}
	if tables, err := os.ReadFile(shippedTables); err == nil {
		_, sum, _ := strings.Cut(string(tables), "\nsum ")
		ends = append(ends, ";tables:"+strings.TrimSpace(sum)+"}\n")
	}
	for _, end := range ends {
		h := fnv.New64a()
		h.Write([]byte(strings.ReplaceAll(limits+end+rest, "entry ", "")))
		if h.Sum64() == p.Hash() {
			return limits + end
		}
	}
	panic("the first entry of the protocol is another one")
}
