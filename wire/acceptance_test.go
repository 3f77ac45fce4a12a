package wire_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/wire"
)

// The signatures of seed B's examples (REQUIREMENTS.md, B8 to B11). A call is a message whose fields are its
// parameters, and a handler that receives them.

// travels serializes want and returns the decoded value. It also tests a buffer that just fits, one that is too small,
// a cut, a tail and a shift.
func travels[T any, P wire.Pointer[T]](t *testing.T, want T, expected []byte) T {
	t.Helper()
	var s wire.Serializer
	kept := want
	size, err := s.Measure(P(&want))
	require.NoError(t, err)
	require.Equal(t, len(expected), size)
	whole := bytes.Repeat([]byte{0xA5}, size+8)
	n, err := s.Write(whole[:size], P(&want))
	require.NoError(t, err)
	require.Equal(t, expected, whole[:n])
	require.Equal(t, bytes.Repeat([]byte{0xA5}, 8), whole[size:], "nothing past the end")
	require.Equal(t, kept, want, "writing changes nothing")

	var got T
	for cut := range expected {
		_, err = s.Write(make([]byte, cut), P(&want))
		require.ErrorIs(t, err, wire.ErrOverflow)
		require.ErrorIs(t, s.Read(expected[:cut], P(new(T))), wire.ErrTruncated, "cut at %d", cut)
	}
	require.ErrorIs(t, s.Read(append(bytes.Clone(expected), 0), P(new(T))), wire.ErrTrailing)
	for _, b := range [][]byte{expected[1:], append([]byte{1}, expected...)} {
		var other T
		if s.Read(b, P(&other)) == nil {
			again := make([]byte, len(b))
			n, err = s.Write(again, P(&other))
			require.NoError(t, err)
			require.Equal(t, b, again[:n])
		}
	}
	require.NoError(t, s.Read(expected, P(&got)))
	require.Equal(t, want, got)
	return got
}

// le concatenates values: bytes and strings unchanged, numbers little-endian.
func le(parts ...any) (b []byte) {
	for _, p := range parts {
		switch v := p.(type) {
		case int:
			b = append(b, byte(v))
		case string:
			b = append(b, v...)
		default:
			var err error
			if b, err = binary.Append(b, binary.LittleEndian, p); err != nil {
				panic(err)
			}
		}
	}
	return b
}

// FooServerRpc(int somenumber, string sometext).
type fooServerRPC struct {
	SomeNumber int32
	SomeText   string
}

func (p *fooServerRPC) Serialize(s *wire.Serializer) {
	s.PackedInt32(&p.SomeNumber)
	s.String(&p.SomeText, 100)
}

func TestB11FooServerRpcIntString(t *testing.T) {
	got := travels(t, fooServerRPC{-300, "hello, wörld"}, le(242, 103, 13, "hello, wörld"))
	require.Equal(t, int32(-300), got.SomeNumber)
	travels(t, fooServerRPC{}, le(0, 0))
	travels(t, fooServerRPC{math.MinInt32, ""}, le(251, 255, 255, 255, 255, 0))
}

// BarClientRpc(Color somecolor): the parameter is the message.
func TestB11BarClientRpcColor(t *testing.T) {
	travels(t, components.Color{R: 1, G: 0.5, A: 1}, le(float32(1), float32(0.5), float32(0), float32(1)))
}

// ConfigServerRpc(SmallEnum smallEnum, NormalEnum normalEnum).
type (
	smallEnum  uint8
	normalEnum int32
	goEnum     int
)

const (
	smallA smallEnum = iota
	smallB
	smallC
)

const (
	normalX normalEnum = iota
	normalY
	normalZ
)

type configServerRPC struct {
	Small  smallEnum
	Normal normalEnum
	Go     goEnum
	Smalls []smallEnum
}

func (p *configServerRPC) Serialize(s *wire.Serializer) {
	wire.SerializeEnumWithin(s, &p.Small, smallA, smallC)
	wire.SerializeEnum(s, &p.Normal)
	wire.SerializeEnum(s, &p.Go)
	wire.SerializeSlice(s, &p.Smalls, 4)
}

func TestB11ConfigServerRpcSmallEnumNormalEnum(t *testing.T) {
	travels(t, configServerRPC{smallC, normalZ, -2, []smallEnum{smallB, smallC}}, le(2, int32(2), int64(-2), 2, 1, 2))
	var s wire.Serializer
	got := configServerRPC{}
	require.ErrorIs(t, s.Read(le(3, int32(2), int64(-2), 0), &got), wire.ErrMalformed, "an enumerator that there is not")
	require.Equal(t, smallA, got.Small)
	_ = []any{normalX, normalY}
}

// HelloServerRpc(int[] scores, Color[] colors).
type helloServerRPC struct {
	Scores []int32
	Colors []components.Color
}

func (p *helloServerRPC) Serialize(s *wire.Serializer) {
	wire.SerializeSlice(s, &p.Scores, 100)
	wire.SerializeEach(s, &p.Colors, 100)
}

func TestB11HelloServerRpcIntArrayColorArray(t *testing.T) {
	one := []float32{1, 2, 3, 4}
	travels(t, helloServerRPC{[]int32{7, -1}, []components.Color{{R: 1, G: 2, B: 3, A: 4}, {R: 1, G: 2, B: 3, A: 4}}},
		le(2, int32(7), int32(-1), 2, one, one))
	var s wire.Serializer
	var empty helloServerRPC
	require.NoError(t, s.Read([]byte{0, 0}, &empty))
	require.Empty(t, empty, "nil and empty are the same on the wire")
}

// MyComplexStruct{Vector3 Position; Quaternion Rotation}.
type myComplexStruct struct {
	Position components.Vector3
	Rotation components.Quaternion
}

func (c *myComplexStruct) Serialize(s *wire.Serializer) {
	s.Nested(&c.Position)
	s.Nested(&c.Rotation)
}

func complexStruct() (myComplexStruct, []byte) {
	return myComplexStruct{components.Vector3{X: 1, Y: 2, Z: 3}, components.Quaternion{W: 1}}, le([]float32{1, 2, 3, 0, 0, 0, 1})
}

func TestB11MyComplexStruct(t *testing.T) {
	v, b := complexStruct()
	require.Len(t, b, 28)
	travels(t, v, b)
}

// WorldClientRpc(MyComplexType[] values).
type worldClientRPC struct{ Values []myComplexStruct }

func (p *worldClientRPC) Serialize(s *wire.Serializer) { wire.SerializeEach(s, &p.Values, 1000) }

func TestB11WorldClientRpcComplexArray(t *testing.T) {
	v, b := complexStruct()
	travels(t, worldClientRPC{[]myComplexStruct{v, {}, v}}, le(3, b, make([]byte, 28), b))
}

// B8: conditional on the direction. The length is sent first, and reading allocates by it.
type myCustomStruct struct{ Array []int32 }

func (c *myCustomStruct) Serialize(s *wire.Serializer) {
	length := 0
	if !s.IsReading() {
		length = len(c.Array)
	}
	s.Count(&length, 1000, 4)
	if s.IsReading() {
		c.Array = make([]int32, length)
	}
	for n := range length {
		s.Int32(&c.Array[n])
	}
}

func TestB8ArrayConditionalOnDirection(t *testing.T) {
	travels(t, myCustomStruct{[]int32{1, -2, 3}}, le(3, int32(1), int32(-2), int32(3)))
	var s wire.Serializer
	got := myCustomStruct{}
	require.ErrorIs(t, s.Read(le(240, int32(1)), &got), wire.ErrTruncated)
	require.Empty(t, got.Array, "nothing is allocated for what is not there")
	require.ErrorIs(t, s.Read(wire.AppendVarint(nil, math.MaxUint64), &got), wire.ErrTooLong)
	require.Empty(t, got.Array)
}

// B9: conditional on a serialized value.
type myMoveStruct struct {
	Position        components.Vector3
	Rotation        components.Quaternion
	SyncVelocity    bool
	LinearVelocity  components.Vector3
	AngularVelocity components.Vector3
}

func (m *myMoveStruct) Serialize(s *wire.Serializer) {
	s.Nested(&m.Position)
	s.Nested(&m.Rotation)
	s.Bool(&m.SyncVelocity)
	if m.SyncVelocity {
		s.Nested(&m.LinearVelocity)
		s.Nested(&m.AngularVelocity)
	}
}

func TestB9MoveConditionalOnValue(t *testing.T) {
	v, b := complexStruct()
	move := myMoveStruct{Position: v.Position, Rotation: v.Rotation}
	travels(t, move, le(b, 0))
	move.SyncVelocity = true
	move.LinearVelocity, move.AngularVelocity = components.Vector3{X: 4}, components.Vector3{Z: 5}
	travels(t, move, le(b, 1, []float32{4, 0, 0, 0, 0, 5}))

	move.SyncVelocity = false // set but not sent: the receiver keeps its defaults
	buf := make([]byte, 100)
	var s wire.Serializer
	n, err := s.Write(buf, &move)
	require.NoError(t, err)
	var got myMoveStruct
	require.NoError(t, s.Read(buf[:n], &got))
	require.Equal(t, myMoveStruct{Position: v.Position, Rotation: v.Rotation}, got)
}

// B10: nested, in the same stream and order, with both conditions.
type myStructB struct {
	SomeNumber int32
	SomeText   string
	StructA    myComplexStruct
	Move       myMoveStruct
	Custom     myCustomStruct
	Children   []myStructB
}

func (b *myStructB) Serialize(s *wire.Serializer) {
	s.Int32(&b.SomeNumber)
	s.String(&b.SomeText, 100)
	s.Nested(&b.StructA)
	s.Nested(&b.Move)
	s.Nested(&b.Custom)
	wire.SerializeEach(s, &b.Children, 100)
}

func TestB10RecursiveNesting(t *testing.T) {
	v, bytesOfA := complexStruct()
	leaf := myStructB{SomeNumber: 9, SomeText: "leaf", StructA: v, Custom: myCustomStruct{[]int32{5}}, Children: nil}
	bytesOfLeaf := le(int32(9), 4, "leaf", bytesOfA, make([]byte, 29), 1, int32(5), 0)
	root := leaf
	root.SomeText, root.Move.SyncVelocity = "root", true
	root.Children = []myStructB{leaf, leaf}
	expected := le(int32(9), 4, "root", bytesOfA, make([]byte, 28), 1, make([]byte, 24), 1, int32(5), 2, bytesOfLeaf, bytesOfLeaf)
	travels(t, root, expected)

	deep := leaf
	for range wire.MaxDepth / 2 {
		deep = myStructB{Custom: leaf.Custom, Children: []myStructB{deep}}
	}
	var s wire.Serializer
	n, err := s.Measure(&deep)
	require.NoError(t, err, "deeper than anything sane")
	buf := make([]byte, n)
	_, err = s.Write(buf, &deep)
	require.NoError(t, err)
	var got myStructB
	require.NoError(t, s.Read(buf, &got))
	require.Equal(t, deep, got)
	for range wire.MaxDepth {
		deep = myStructB{Custom: leaf.Custom, Children: []myStructB{deep}}
	}
	_, err = s.Measure(&deep)
	require.ErrorIs(t, err, wire.ErrTooDeep, "and yet there is an end")
}

// Seed C, 5: the input of twin joysticks takes exactly 16 bytes.
type twinJoysticks struct{ Left, Right components.Vector2 }

func (j *twinJoysticks) Serialize(s *wire.Serializer) {
	s.Nested(&j.Left)
	s.Nested(&j.Right)
}

func TestC5TwinJoysticksAre16Bytes(t *testing.T) {
	b := le([]float32{0.5, -1, 0, 1})
	require.Len(t, b, 16)
	travels(t, twinJoysticks{components.Vector2{X: 0.5, Y: -1}, components.Vector2{Y: 1}}, b)
}
