package input

import (
	"encoding/hex"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// wheel is an input with a stick and a press.
type wheel struct {
	Turn int8
	Horn bool `net:"event"`
}

// relayedTypes is a protocol of two inputs. Only wheel is relayed.
func relayedTypes(more ...func(p *netcode.Protocol)) *types {
	p := netcode.NewProtocol()
	Relay[wheel](p)
	Register[wheel](p)
	Register[look](p)
	for _, f := range more {
		f(p)
	}
	p.Hash()
	in, _ := extend.ExtensionOf[*types](p)
	return in
}

// section returns a section of one player, for a client whose clock is near tick 100.
func section(in *types, r relayedRun, rows ...wheel) []byte {
	room := make([]byte, 1000)
	room[0], room[2] = 100, 1
	w := wire.NewBitWriter(room[relayHead:])
	r.ticks = len(rows)
	writeRelayed(in, &w, r, func(i int) []uint32 { return wheelRow(in, rows[i]) })
	return room[:relayHead+w.Finish()]
}

// wheelRow returns the lanes of all types in a tick.
func wheelRow(in *types, v wheel) []uint32 {
	row := make([]uint32, in.lanes)
	n := in.number(reflect.TypeFor[wheel]())
	in.plans[n].Quantise(reflect.ValueOf(&v).UnsafePointer(), in.of(row, n))
	return row
}

// The bytes of PROTOCOL.md.
func TestBytesOfARelayedSection(t *testing.T) {
	in := relayedTypes()
	bit := uint8(1) << in.number(reflect.TypeFor[wheel]())
	for want, payload := range map[string][]byte{
		"640001" + "4642a08ff102": section(in, relayedRun{client: 5, newest: 2, types: bit}, wheel{Turn: -3}, wheel{Turn: -3}, wheel{Turn: 7, Horn: true}),
		"640001" + "030000":       section(in, relayedRun{client: 1}, wheel{}),
	} {
		require.Equal(t, want, hex.EncodeToString(payload))
	}
}

func TestRelayedSectionsAreReadAsTheyWereWritten(t *testing.T) {
	in := relayedTypes()
	n := in.number(reflect.TypeFor[wheel]())
	rows := make([]uint32, in.lanes*(relayReach+relayAhead))
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) wheel {
			return wheel{rapid.Int8().Draw(t, "turn"), rapid.Bool().Draw(t, "horn")}
		}), 1, relayReach+relayAhead).Draw(t, "rows")
		run := relayedRun{
			client: netcode.ClientID(rapid.Uint32Range(1, 1<<32-1).Draw(t, "client")), newest: rapid.IntRange(0, relayAhead).Draw(t, "newest"),
			ticks: len(all), types: uint8(rapid.IntRange(0, 1).Draw(t, "types")) << n,
		}
		payload, count := section(in, run, all...), 0
		require.NoError(t, readRelayed(in, payload, rows, func(low uint16, r relayedRun) {
			count++
			require.EqualValues(t, 100, low)
			require.Equal(t, run, r)
			for i := range r.ticks {
				if r.types != 0 {
					require.Equal(t, in.of(wheelRow(in, all[i]), n), in.of(rows[i*in.lanes:], n))
				}
			}
		}))
		require.Equal(t, 1, count)
		for cut := range payload {
			require.Error(t, readRelayed(in, payload[:cut], rows, func(uint16, relayedRun) {}))
		}
		require.Error(t, readRelayed(in, append(payload, 0), rows, func(uint16, relayedRun) {}))
	})
}

// A missing input is guessed from the newest earlier input, without its press, by the game's decay function if there is
// one.
func TestAMissingInputIsGuessed(t *testing.T) {
	for _, decays := range []bool{false, true} {
		in := relayedTypes(func(p *netcode.Protocol) {
			if decays {
				Decay(p, func(last wheel, age int) wheel { return wheel{Turn: last.Turn / int8(1+age), Horn: true} })
			}
		})
		r, n := newRelayedPlayers(in), in.number(reflect.TypeFor[wheel]())
		at := func(at tick.Tick) (v wheel) {
			lanes := r.of(r.players[5], n, at)
			if lanes == nil {
				return wheel{Turn: -1}
			}
			in.plans[n].Dequantise(lanes, reflect.ValueOf(&v).UnsafePointer())
			return v
		}
		r.take(section(in, relayedRun{client: 5, types: 1 << n}, wheel{12, true}), 104)
		require.Equal(t, wheel{-1, false}, at(99))
		require.Equal(t, wheel{12, true}, at(100))
		require.Equal(t, map[bool]wheel{false: {12, false}, true: {4, false}}[decays], at(102))
		require.Equal(t, wheel{-1, false}, at(100+reach))
		require.Equal(t, tick.Tick(100), r.since)
		r.since = tick.None
		r.take(section(in, relayedRun{client: 5, newest: 1, types: 1 << n}, wheel{12, true}, wheel{12, false}), 104)
		require.Equal(t, decays, r.since == 101, "without decay 101 is as it was guessed")
		r.since = tick.None
		r.take(section(in, relayedRun{client: 5, newest: 7, types: 1 << n}, wheel{3, false}), 106)
		require.Zero(t, r.since, "it is still to come")
		r.take(section(in, relayedRun{client: 5, newest: 3, types: 1 << n}, wheel{9, false}, wheel{12, false}), 106)
		require.Equal(t, tick.Tick(102), r.since)
		r.take(section(in, relayedRun{client: 5, newest: 4}, wheel{}), 106)
		require.Equal(t, wheel{-1, false}, at(105), "the server told that there is none")
		require.Equal(t, wheel{3, false}, at(107))
	}
}

// A hostile server can neither fill a client's memory nor change distant ticks.
func TestRelayedInputsAreBoundedAtAClient(t *testing.T) {
	in := relayedTypes()
	r, n := newRelayedPlayers(in), in.number(reflect.TypeFor[wheel]())
	for client := range netcode.ClientID(3 * relayPlayers) {
		r.take(section(in, relayedRun{client: client + 1, types: 1 << n}, wheel{1, false}), 104)
	}
	require.Len(t, r.players, relayPlayers)
	require.EqualValues(t, 2*relayPlayers, r.stats.Forgotten)
	require.Nil(t, r.players[1])
	require.NotNil(t, r.players[3*relayPlayers])
	r.restart()
	require.Empty(t, r.players)
	taken := r.stats.Taken
	r.take(section(in, relayedRun{client: 1, types: 1 << n}, wheel{1, false}), 100+Window)
	r.take(section(in, relayedRun{client: 1, types: 1 << n}, wheel{1, false}), 100-reach)
	require.Equal(t, taken, r.stats.Taken)
	require.EqualValues(t, 2, r.stats.OutOfTime)
}

func TestRelayIsRefusedWhereItMakesNoSense(t *testing.T) {
	for _, f := range []func(p *netcode.Protocol){
		func(p *netcode.Protocol) { Relay[wheel](p); Relay[wheel](p) },
		func(p *netcode.Protocol) { Relay[wheel](p); p.Hash() },
		func(p *netcode.Protocol) {
			Register[wheel](p)
			Decay(p, func(v wheel, _ int) wheel { return v })
			p.Hash()
		},
		func(p *netcode.Protocol) { Register[wheel](p); Relay[wheel](p); Decay[wheel](p, nil) },
		func(p *netcode.Protocol) { Register[wheel](p); p.Hash(); Relay[wheel](p) },
	} {
		require.Panics(t, func() { f(netcode.NewProtocol()) })
	}
}

// Both ends must relay the same inputs.
func TestRelayedInputsAreInTheHash(t *testing.T) {
	hashes := map[uint64]bool{}
	for _, relay := range []func(p *netcode.Protocol){func(*netcode.Protocol) {}, Relay[wheel], Relay[look]} {
		p := netcode.NewProtocol()
		Register[wheel](p)
		Register[look](p)
		relay(p)
		hashes[p.Hash()] = true
	}
	require.Len(t, hashes, 3)
}

func TestRelayedInputsAllocateNothing(t *testing.T) {
	in := relayedTypes(func(p *netcode.Protocol) {
		Decay(p, func(last wheel, _ int) wheel { return wheel{Turn: last.Turn / 2} })
	})
	r, n := newRelayedPlayers(in), in.number(reflect.TypeFor[wheel]())
	payload := section(in, relayedRun{client: 5, types: 1 << n}, wheel{1, false}, wheel{2, false})
	frame := func() {
		r.take(payload, 104)
		r.of(r.players[5], n, 103)
	}
	frame()
	counter := alloctest.Start(t)
	for range 10 {
		counter.Count(frame)
	}
	counter.Zero("inputs of others")
}

func FuzzReadRelayed(f *testing.F) {
	in := relayedTypes()
	n := in.number(reflect.TypeFor[wheel]())
	f.Add(section(in, relayedRun{client: 5, newest: 2, types: 1 << n}, wheel{1, true}, wheel{2, false}))
	f.Add(section(in, relayedRun{client: 5}, wheel{}))
	f.Add([]byte{0, 0, 32, 0xFF})
	rows := make([]uint32, in.lanes*(relayReach+relayAhead))
	f.Fuzz(func(t *testing.T, payload []byte) {
		count := 0
		err := readRelayed(in, payload, rows, func(_ uint16, r relayedRun) {
			count++
			if r.client == 0 || r.ticks < 1 || r.ticks > relayReach+relayAhead || r.newest > relayAhead || r.types&^in.relays.types != 0 {
				t.Fatalf("%+v", r)
			}
		})
		if err == nil {
			if count == 0 || count > relayAtMost {
				t.Fatalf("%d players", count)
			}
			newRelayedPlayers(in).take(payload, 104)
		}
	})
}
