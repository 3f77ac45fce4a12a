package components_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// mathType is one of the types of B3 with every number set, and its bytes in a message.
type mathType struct {
	value, empty wire.Serializable
	bytes        []byte
	floats       int
}

func mathTypes() map[string]mathType {
	one, two, three, four := []byte{0, 0, 0x80, 0x3F}, []byte{0, 0, 0, 0x40}, []byte{0, 0, 0x40, 0x40}, []byte{0, 0, 0x80, 0x40}
	five, six := []byte{0, 0, 0xA0, 0x40}, []byte{0, 0, 0xC0, 0x40}
	join := func(numbers ...[]byte) (b []byte) {
		for _, n := range numbers {
			b = append(b, n...)
		}
		return b
	}
	v3 := components.Vector3{X: 1, Y: 2, Z: 3}
	v2 := components.Vector2{X: 1, Y: 2}
	return map[string]mathType{
		"Color":      {&components.Color{R: 1, G: 2, B: 3, A: 4}, &components.Color{}, join(one, two, three, four), 4},
		"Color32":    {&components.Color32{R: 1, G: 2, B: 3, A: 4}, &components.Color32{}, []byte{1, 2, 3, 4}, 0},
		"Vector2":    {&v2, &components.Vector2{}, join(one, two), 2},
		"Vector3":    {&v3, &components.Vector3{}, join(one, two, three), 3},
		"Vector4":    {&components.Vector4{X: 1, Y: 2, Z: 3, W: 4}, &components.Vector4{}, join(one, two, three, four), 4},
		"Quaternion": {&components.Quaternion{X: 1, Y: 2, Z: 3, W: 4}, &components.Quaternion{}, join(one, two, three, four), 4},
		"Ray": {&components.Ray{Origin: v3, Direction: components.Vector3{X: 4, Y: 5, Z: 6}}, &components.Ray{},
			join(one, two, three, four, five, six), 6},
		"Ray2D": {&components.Ray2D{Origin: v2, Direction: components.Vector2{X: 3, Y: 4}}, &components.Ray2D{},
			join(one, two, three, four), 4},
	}
}

func TestMathTypesTravel(t *testing.T) {
	require.Len(t, mathTypes(), 8)
	for name, c := range mathTypes() {
		t.Run(name, func(t *testing.T) {
			var s wire.Serializer
			size, err := s.Measure(c.value)
			require.NoError(t, err)
			require.Equal(t, len(c.bytes), size)
			require.EqualValues(t, reflect.TypeOf(c.value).Elem().Size(), size, "no padding")
			buf := make([]byte, size)
			n, err := s.Write(buf, c.value)
			require.NoError(t, err)
			require.Equal(t, c.bytes, buf[:n])
			for cut := range buf {
				_, err := s.Write(buf[:cut], c.value)
				require.ErrorIs(t, err, wire.ErrOverflow)
				require.ErrorIs(t, s.Read(c.bytes[:cut], reflect.New(reflect.TypeOf(c.value).Elem()).Interface().(wire.Serializable)), wire.ErrTruncated)
			}
			require.NoError(t, s.Read(c.bytes, c.empty))
			require.Equal(t, c.value, c.empty)
			require.ErrorIs(t, s.Read(append(c.bytes, 0), c.empty), wire.ErrTrailing)
		})
	}
}

// No number of any of them can be NaN or infinite, on either end.
func TestMathTypesKeepNotFiniteOut(t *testing.T) {
	for name, c := range mathTypes() {
		for i := range c.floats {
			for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
				bits := math.Float32bits(bad)
				b := append([]byte{}, c.bytes...)
				copy(b[4*i:], []byte{byte(bits), byte(bits >> 8), byte(bits >> 16), byte(bits >> 24)})
				var s wire.Serializer
				require.ErrorIs(t, s.Read(b, c.empty), wire.ErrMalformed, "%s %d", name, i)

				spoiled := reflect.New(reflect.TypeOf(c.value).Elem())
				require.NoError(t, s.Read(c.bytes, spoiled.Interface().(wire.Serializable)))
				float := spoiled.Elem()
				if float.Field(0).Kind() == reflect.Struct {
					half := c.floats / 2
					float = float.Field(i / half).Field(i % half)
				} else {
					float = float.Field(i)
				}
				float.SetFloat(float64(bad))
				_, err := s.Write(make([]byte, 99), spoiled.Interface().(wire.Serializable))
				require.ErrorIs(t, err, wire.ErrNotFinite, "%s %d", name, i)
				_, err = s.Measure(spoiled.Interface().(wire.Serializable))
				require.ErrorIs(t, err, wire.ErrNotFinite, "%s %d", name, i)
			}
		}
	}
}

// Each can be a component, and a whole value; a Quaternion takes the tag for rotations.
func TestMathTypesAreBlittable(t *testing.T) {
	for name, c := range mathTypes() {
		p, err := quantize.Compile(reflect.TypeOf(c.value).Elem(), name)
		require.NoError(t, err)
		require.EqualValues(t, 8*len(c.bytes), p.Bits(), name)
	}
	type turned struct {
		Rotation components.Quaternion `net:"quat,bits=9"`
	}
	p, err := quantize.Compile(reflect.TypeFor[turned](), "Turned")
	require.NoError(t, err)
	require.Equal(t, 29, p.Bits())
	value, err := wire.NewValue[components.Ray]()
	require.NoError(t, err)
	require.Equal(t, 24, value.Size())
}

func TestMathTypesAllocateNothing(t *testing.T) {
	var s wire.Serializer
	ray, buf := mathTypes()["Ray"].value, make([]byte, 24)
	alloctest.Zero(t, 100, func() {
		n, err := s.Write(buf, ray)
		if err != nil || n != 24 || s.Read(buf, ray) != nil {
			t.Fatal("does not travel")
		}
	})
}

// shapes is a message with vectors in each form.
type shapes struct {
	Two   components.Vector2
	Three components.Vector3
	Four  components.Vector4
	Turn  components.Quaternion
}

func (m *shapes) Serialize(s *wire.Serializer) {
	m.Two.SerializeHalf(s)
	m.Three.SerializeQuantised(s, -100, 100, 0.01)
	m.Four.SerializePacked(s, 0.5)
	m.Turn.SerializeQuantised(s, 0.0001)
}

func TestVectorsTravelQuantisedAndPacked(t *testing.T) {
	text, err := wire.Layout(func() wire.Serializable { return &shapes{Turn: components.Quaternion{W: 1}} }, false)
	require.NoError(t, err)
	require.Contains(t, text, "Two.X:f32half;Two.Y:f32half;Three.X:f32[-100,100,0.01];Three.Y:f32[-100,100,0.01];Three.Z:f32[-100,100,0.01];Four.X:f32packed[0.5];")
	rapid.Check(t, func(t *rapid.T) {
		float := func(most float64) float32 { return float32(rapid.Float64Range(-most, most).Draw(t, "")) }
		m := shapes{Two: components.Vector2{X: float(1), Y: float(9)}, Three: components.Vector3{X: float(100), Y: float(100), Z: float(100)},
			Four: components.Vector4{X: float(50), Y: float(50), Z: float(50), W: float(50)}, Turn: components.Quaternion{X: float(1), Y: float(1), Z: float(1), W: 0.1 + float(0.05)}}
		var s wire.Serializer
		buf := make([]byte, 64)
		n, err := s.Write(buf, &m)
		require.NoError(t, err)
		size, err := s.Measure(&m)
		require.NoError(t, err)
		require.Equal(t, n, size)
		require.Equal(t, 2*2+3*2+4+7, n, "a half has 2 bytes, 20000 steps 2, a packed number of 120 steps 1, a rotation 1 and three times 2")
		var back shapes
		require.NoError(t, s.Read(buf[:n], &back))
		require.InDelta(t, m.Two.Y, back.Two.Y, 0.005)
		require.InDelta(t, m.Three.X, back.Three.X, 0.00501)
		require.InDelta(t, m.Four.W, back.Four.W, 0.25001)
		dot := m.Turn.X*back.Turn.X + m.Turn.Y*back.Turn.Y + m.Turn.Z*back.Turn.Z + m.Turn.W*back.Turn.W
		length := math.Sqrt(float64(m.Turn.X*m.Turn.X + m.Turn.Y*m.Turn.Y + m.Turn.Z*m.Turn.Z + m.Turn.W*m.Turn.W))
		require.InDelta(t, 1, math.Abs(float64(dot))/length, 1e-6)
	})
}

func TestVectorsThatCannotTravel(t *testing.T) {
	var s wire.Serializer
	buf := make([]byte, 64)
	_, err := s.Write(buf, &shapes{})
	require.ErrorIs(t, err, wire.ErrNotFinite, "a rotation of length 0")
	nan := shapes{Turn: components.Quaternion{W: 1}}
	nan.Three.Y = float32(math.NaN())
	_, err = s.Write(buf, &nan)
	require.ErrorIs(t, err, wire.ErrNotFinite)
	far := shapes{Turn: components.Quaternion{W: 1}, Three: components.Vector3{X: 101}}
	n, err := s.Write(buf, &far)
	require.NoError(t, err)
	var back shapes
	require.NoError(t, s.Read(buf[:n], &back))
	require.Equal(t, float32(100), back.Three.X, "clamped")
	bad := append([]byte(nil), buf[:n]...)
	bad[4], bad[5] = 0xFF, 0xFF
	require.ErrorIs(t, s.Read(bad, &back), wire.ErrMalformed, "65535 of 20000 steps")
	bad = append([]byte(nil), buf[:n]...)
	for i := n - 6; i < n; i += 2 {
		bad[i], bad[i+1] = 0, 0
	}
	require.ErrorIs(t, s.Read(bad, &back), wire.ErrMalformed, "three numbers of a rotation at the edge")
	require.Panics(t, func() { new(components.Vector2).SerializeQuantised(&s, 1, 0, 0.1) })
	require.Panics(t, func() { new(components.Vector2).SerializePacked(&s, 0) })
}

// Bytes that are read as vectors are those that the vectors are written as, within a step.
func FuzzVectors(f *testing.F) {
	f.Add(make([]byte, 21))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s wire.Serializer
		var m, again shapes
		if s.Read(b, &m) != nil {
			return
		}
		require.InDelta(t, 0, m.Three.X, 100)
		buf := make([]byte, 64)
		n, err := s.Write(buf, &m)
		require.NoError(t, err)
		require.NoError(t, s.Read(buf[:n], &again))
		require.InDelta(t, m.Three.Y, again.Three.Y, 0.011)
	})
}
