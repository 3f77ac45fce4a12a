package record

import (
	"compress/gzip"
	"encoding/binary"
	"io"
	"math"
	"os"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

type tracePosition struct {
	X, Y float32 `net:"min=-256,max=255.998046875,step=0.001953125"`
	Z    float32 `net:"min=0,max=31.998046875,step=0.001953125"`
}

type traceOrientation struct {
	Q [4]float32 `net:"quat,bits=9"`
}

type traceInteracting struct{ On bool }

func plans(t testing.TB) []*wire.Plan {
	var list []*wire.Plan
	for _, typ := range []reflect.Type{reflect.TypeFor[traceInteracting](), reflect.TypeFor[traceOrientation](), reflect.TypeFor[tracePosition]()} {
		p, err := wire.Compile(typ, typ.Name())
		require.NoError(t, err)
		list = append(list, p)
	}
	return list
}

type cubeBody struct {
	pos tracePosition
	ori traceOrientation
	on  traceInteracting
}

func frames(t testing.TB, name string) [][]cubeBody {
	f, err := os.Open("../../shared/traces/" + name)
	if err != nil {
		t.Skip("no recording: ", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	b, err := io.ReadAll(z)
	require.NoError(t, err)
	now := make([]cubeBody, binary.LittleEndian.Uint16(b[6:]))
	var all [][]cubeBody
	for b = b[16:]; len(b) > 0; {
		n := int(binary.LittleEndian.Uint16(b))
		for b = b[2:]; n > 0; n-- {
			c := &now[binary.LittleEndian.Uint16(b)]
			word := func(i int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b[2+4*i:])) }
			c.pos = tracePosition{word(0), word(1), word(2)}
			c.ori.Q = [4]float32{word(3), word(4), word(5), word(6)}
			c.on.On = b[42]&1 != 0
			b = b[46:]
		}
		all = append(all, append([]cubeBody(nil), now...))
	}
	return all
}

func play(t testing.TB, tr *Training, list [][]cubeBody, each func()) {
	s := tr.Store
	var ids []wire.NetworkID
	for f, bodies := range list {
		s.Begin(tick.Tick(f + 1))
		for i := range bodies {
			if f == 0 {
				ids = append(ids, s.Spawn())
			}
			b := &bodies[i]
			set(s, ids[i], 0, unsafe.Pointer(&b.on))
			set(s, ids[i], 1, unsafe.Pointer(&b.ori))
			set(s, ids[i], 2, unsafe.Pointer(&b.pos))
		}
		s.Commit()
		require.NoError(t, tr.Send())
		if each != nil {
			each()
		}
	}
}

func set(s *snapshot.Store, id wire.NetworkID, row int, p unsafe.Pointer) {
	lanes := make([]uint32, s.Schema().Plan(row).Lanes())
	s.Schema().Plan(row).Quantise(p, lanes)
	s.Set(id, row, lanes)
}

func TestTrain(t *testing.T) {
	tr, err := NewTraining(plans(t), false, 6)
	require.NoError(t, err)
	play(t, tr, frames(t, "cubes91.trace.gz"), nil)
	tables, err := tr.Tables()
	require.NoError(t, err)
	text := tables.AppendText(nil)
	t.Log(len(text))
	require.NoError(t, os.WriteFile("/tmp/cubes91.tables", text, 0o644))
}
