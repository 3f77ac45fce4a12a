package main

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/wire"
)

func TestItPrintsTheSizes(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(&out))
	for _, line := range []string{
		"Input: 36 bytes in memory, 5 on the wire (7.2 times less), ",
		"  on the wire  26 a6 81 10 09\n",
		"TwinJoysticks: 16 bytes on the wire, read back exactly; 44 as JSON: ",
	} {
		require.Contains(t, out.String(), line)
	}
	require.Equal(t, 2, strings.Count(out.String(), "TwinJoysticks: 16 bytes"))
}

// Every button in its place, every axis in its byte, and never farther off than half a step.
func TestInputComesBack(t *testing.T) {
	for pressed := range 32 {
		for step := -1270; step <= 1270; step += 13 {
			var in Input
			for bit, button := range in.list() {
				*button = Button(pressed >> bit & 1)
			}
			v := float32(step) / 1270
			in.Move, in.Smash = components.Vector2{X: v, Y: -v}, components.Vector2{X: v / 3, Y: 1}
			w := wire.NewWriter(make([]byte, 5))
			in.Write(&w)
			require.NoError(t, w.Err())
			require.Len(t, w.Written(), 5)
			require.Equal(t, uint8(pressed), w.Written()[4])
			var back Input
			r := wire.NewReader(w.Written())
			require.NoError(t, back.Read(&r))
			require.True(t, r.Done())
			require.LessOrEqual(t, in.distance(&back), axisError)
			require.Equal(t, in.buttons(), back.buttons())
		}
	}
}

// The order of the bits is the seed's: attack, special, shield, grab, jump.
func TestButtonsHaveTheirBits(t *testing.T) {
	require.Equal(t, uint8(1), (&Input{Attack: 1}).buttons())
	require.Equal(t, uint8(2), (&Input{Special: 1}).buttons())
	require.Equal(t, uint8(4), (&Input{Shield: 1}).buttons())
	require.Equal(t, uint8(8), (&Input{Grab: 1}).buttons())
	require.Equal(t, uint8(16), (&Input{Jump: 7}).buttons())
}

// Every five bytes are either refused or exactly what the input read from them writes.
func TestReadRefusesBytesThatNoWriterWrites(t *testing.T) {
	for value := range 256 {
		for at := range 5 {
			packet := make([]byte, 5)
			packet[at] = byte(value)
			var back Input
			r := wire.NewReader(packet)
			err := back.Read(&r)
			legal := value != 0x80
			if at == 4 {
				legal = value < 32
			}
			if !legal {
				require.ErrorIs(t, err, wire.ErrMalformed, "% x", packet)
				continue
			}
			require.NoError(t, err, "% x", packet)
			w := wire.NewWriter(make([]byte, 5))
			back.Write(&w)
			require.Equal(t, packet, w.Written())
		}
	}
	for n := range 5 {
		r := wire.NewReader(make([]byte, n))
		require.ErrorIs(t, new(Input).Read(&r), wire.ErrTruncated)
	}
}

func TestValuesThatAreNoAxisAreNotSent(t *testing.T) {
	in := Input{Smash: components.Vector2{Y: float32(math.NaN())}}
	w := wire.NewWriter(make([]byte, 5))
	in.Write(&w)
	require.Error(t, w.Err())
}

// TwinJoysticks has 16 bytes whichever way it is written, and JSON the size that REQUIREMENTS.md says.
func TestTwinJoysticksHas16Bytes(t *testing.T) {
	whole, err := wire.NewValue[TwinJoysticks]()
	require.NoError(t, err)
	require.Equal(t, 16, whole.Size())
	sticks := TwinJoysticks{Left: components.Vector2{X: 1, Y: -2}, Right: components.Vector2{X: 3.5, Y: -4.25}}
	var s wire.Serializer
	n, err := s.Measure(&sticks)
	require.NoError(t, err)
	require.Equal(t, 16, n)
	written, put := make([]byte, 16), make([]byte, 16)
	n, err = s.Write(written, &sticks)
	require.NoError(t, err)
	require.Equal(t, 16, n)
	require.NoError(t, whole.Put(put, &sticks))
	require.Equal(t, put, written)
	text, err := json.Marshal(TwinJoysticks{})
	require.NoError(t, err)
	require.Len(t, text, 44)
}
