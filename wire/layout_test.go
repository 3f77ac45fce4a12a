package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

// layoutOf returns the layout of a T.
func layoutOf[T any, P wire.Pointer[T]](debug bool) (string, error) {
	return wire.Layout(func() wire.Serializable { return P(new(T)) }, debug)
}

// by is a type whose Serialize method is a function of a test.
type by[F layoutFunc] struct{ fields layoutFields }

func (b *by[F]) Serialize(s *wire.Serializer) {
	var f F
	f.serialize(&b.fields, s)
}

type layoutFunc interface {
	serialize(m *layoutFields, s *wire.Serializer)
}

// point is nested in others.
type point struct{ X, Y float32 }

func (p *point) Serialize(s *wire.Serializer) { s.FiniteFloat32(&p.X); s.FiniteFloat32(&p.Y) }

// tree holds itself.
type tree struct {
	Leaf  uint8
	Left  *tree
	Right []tree
}

func (t *tree) Serialize(s *wire.Serializer) {
	s.Uint8(&t.Leaf)
	wire.SerializeOptional(s, &t.Left)
	wire.SerializeEach(s, &t.Right, 4)
}

type layoutFields struct {
	Text  string
	Kind  uint8
	Sort  int
	On    bool
	A, B  int32
	U     uint64
	At    point
	Way   *point
	Path  []point
	Loose []point
	Key   [4]uint8
	Heat  float32
	Blob  []byte
	Names []string
	Inner struct{ Deep struct{ Deeper uint16 } }
}

type (
	oneText   struct{}
	twoTexts  struct{}
	numbers   struct{}
	nested    struct{}
	manual    struct{}
	branch    struct{}
	both      struct{}
	union     struct{}
	within    struct{}
	onText    struct{}
	onFloat   struct{}
	late      struct{}
	locals    struct{}
	picky     struct{}
	nilField  struct{}
	nilRead   struct{}
	uneven    struct{}
	inverted  struct{}
	endless   struct{}
	twoLevels struct{}
	large     struct{}
	bits      struct{}
)

func (oneText) serialize(m *layoutFields, s *wire.Serializer)  { s.String(&m.Text, 200) }
func (twoTexts) serialize(m *layoutFields, s *wire.Serializer) { s.String(&m.Text, 100) }

func (numbers) serialize(m *layoutFields, s *wire.Serializer) {
	s.PackedInt32(&m.A)
	wire.SerializeEnum(s, &m.Sort)
	s.PackedUint64(&m.U)
	s.Half(&m.Heat)
	s.Axis(&m.Heat)
	s.Float32(&m.Heat)
	wire.SerializeArray(s, m.Key[:])
	s.Uint16(&m.Inner.Deep.Deeper)
	s.Bytes(&m.Blob, 9)
	s.Strings(&m.Names, 3, 8)
}

// large has a number of 8 bits whose high values matter, once a low one shows that it does.
func (large) serialize(m *layoutFields, s *wire.Serializer) {
	switch s.Uint8(&m.Kind); m.Kind {
	case 1:
		s.Bool(&m.On)
	case 100:
		s.Int32(&m.A)
	}
}

func (bits) serialize(m *layoutFields, s *wire.Serializer) {
	s.Uint8(&m.Kind)
	if m.Kind&1 != 0 {
		s.Bool(&m.On)
	}
	if m.Kind >= 254 {
		s.Int32(&m.A)
	}
}

func (nested) serialize(m *layoutFields, s *wire.Serializer) {
	s.Nested(&m.At)
	wire.SerializeEach(s, &m.Path, 8)
	wire.SerializeOptional(s, &m.Way)
}

func (manual) serialize(m *layoutFields, s *wire.Serializer) {
	n := len(m.Path)
	s.Count(&n, 8, 8)
	if s.IsReading() {
		m.Path = make([]point, n)
	}
	for i := range m.Path {
		s.Nested(&m.Path[i])
		s.Bool(&m.On)
		if m.On {
			s.Uint8(&m.Kind)
		}
	}
	s.Uint8(&m.Key[2])
}

func (branch) serialize(m *layoutFields, s *wire.Serializer) {
	s.Bool(&m.On)
	if m.On {
		s.Int32(&m.A)
	}
	s.Int32(&m.B)
}

func (both) serialize(m *layoutFields, s *wire.Serializer) {
	if s.Bool(&m.On); m.On {
		s.Nested(&m.At)
	} else {
		s.String(&m.Text, 5)
	}
}

func (union) serialize(m *layoutFields, s *wire.Serializer) {
	s.PackedInt32(&m.A)
	switch m.A {
	case 1, 2:
		s.Nested(&m.At)
	case 4:
		s.String(&m.Text, 5)
	}
	s.Bool(&m.On)
}

func (within) serialize(m *layoutFields, s *wire.Serializer) {
	wire.SerializeEnumWithin(s, &m.Kind, 3, 5)
	if m.Kind == 4 {
		s.Bool(&m.On)
	}
}

func (onText) serialize(m *layoutFields, s *wire.Serializer) {
	if s.String(&m.Text, 5); m.Text != "" {
		s.Bool(&m.On)
	}
}

func (onFloat) serialize(m *layoutFields, s *wire.Serializer) {
	if s.FiniteFloat32(&m.Heat); m.Heat > 0 {
		s.Bool(&m.On)
	}
}

func (late) serialize(m *layoutFields, s *wire.Serializer) {
	s.Bool(&m.On)
	s.Uint16(&m.Inner.Deep.Deeper)
	if m.On {
		s.Int32(&m.A)
	}
}

func (locals) serialize(m *layoutFields, s *wire.Serializer) {
	has := m.Kind != 0
	if s.Bool(&has); has {
		s.Uint8(&m.Kind)
	}
}

func (picky) serialize(m *layoutFields, s *wire.Serializer) {
	s.Uint8(&m.Kind)
	if m.Kind == 0 || m.Kind > 3 {
		s.Fail(errors.New("no such kind"))
	}
	s.Bool(&m.On)
}

func (nilField) serialize(m *layoutFields, s *wire.Serializer) { s.FiniteFloat32(&m.Way.X) }
func (nilRead) serialize(m *layoutFields, s *wire.Serializer) {
	if s.IsReading() {
		m.Way = new(point)
	}
	s.FiniteFloat32(&m.Way.X)
}

func (uneven) serialize(m *layoutFields, s *wire.Serializer) {
	s.Int32(&m.A)
	if s.IsReading() {
		s.Uint8(&m.Kind)
	}
}

func (inverted) serialize(m *layoutFields, s *wire.Serializer) {
	empty := m.Text == ""
	if s.Bool(&empty); !empty {
		s.String(&m.Text, 7)
	}
}

func (endless) serialize(m *layoutFields, s *wire.Serializer) {
	for {
		s.Uint8(&m.Kind)
	}
}

func (twoLevels) serialize(m *layoutFields, s *wire.Serializer) {
	if s.Bool(&m.On); m.On {
		if wire.SerializeEnumWithin(s, &m.Kind, 0, 2); m.Kind == 2 {
			s.Int32(&m.A)
		}
	}
}

func TestLayoutTellsWhatAMethodReads(t *testing.T) {
	at := "{X:f32;Y:f32}"
	check := func(want string) func(text string, err error) {
		return func(text string, err error) {
			t.Helper()
			require.NoError(t, err)
			require.Equal(t, want, text)
		}
	}
	check("fields.Text:string200")(layoutOf[by[oneText]](false))
	check("fields.Text:string100")(layoutOf[by[twoTexts]](false))
	check("fields.A:i32packed;fields.Sort:i64;fields.U:u64packed;fields.Heat:f32half;fields.Heat:f32axis;fields.Heat:f32any;" +
		"fields.Key:[4]u8;fields.Inner.Deep.Deeper:u16;fields.Blob:[..9]u8;fields.Names:[..3]string8")(layoutOf[by[numbers]](false))
	check("fields.A:i32;fields.Sort:i64;fields.U:u64;fields.Heat:f32half;fields.Heat:f32axis;fields.Heat:f32any;" +
		"fields.Key:[4]u8;fields.Inner.Deep.Deeper:u16;fields.Blob:[..9]u8;fields.Names:[..3]string8")(layoutOf[by[numbers]](true))
	check("fields.At:" + at + ";fields.Path:[..8]" + at + ";fields.Way:bool?" + at)(layoutOf[by[nested]](false))
	check("_:[..8]?{fields.Path[]:" + at + ";fields.On:bool?{fields.Kind:u8}};fields.Key[2]:u8")(layoutOf[by[manual]](false))
	check("fields.On:bool?{fields.A:i32};fields.B:i32")(layoutOf[by[branch]](false))
	check("fields.On:bool?{fields.At:" + at + "|fields.Text:string5}")(layoutOf[by[both]](false))
	check("_:bool?{fields.Kind:u8}")(layoutOf[by[locals]](false))
	check("fields.On:bool?{fields.Inner.Deep.Deeper:u16;fields.A:i32|fields.Inner.Deep.Deeper:u16}")(layoutOf[by[late]](false))
	check("fields.Kind:u8;fields.On:bool")(layoutOf[by[picky]](false))
	check("_:bool?{|fields.Text:string7}")(layoutOf[by[inverted]](false))
	check("fields.On:bool?{fields.Kind:u8[0,2]?{0..1:|2:fields.A:i32}}")(layoutOf[by[twoLevels]](false))
	check("fields.Kind:u8[3,5]?{3,5:|4:fields.On:bool}")(layoutOf[by[within]](false))
	check("fields.A:i32packed?{1..2:fields.At:" + at + "|4:fields.Text:string5|*:};fields.On:bool")(layoutOf[by[union]](false))
	check("fields.Kind:u8?{1:fields.On:bool|100:fields.A:i32|*:}")(layoutOf[by[large]](false))
	text, err := layoutOf[by[bits]](false)
	require.NoError(t, err)
	require.Contains(t, text, ",252:|1,3,5,", "all values of 8 bits are named")
	require.Contains(t, text, ",253:fields.On:bool|254:fields.A:i32|*:fields.On:bool;fields.A:i32}")
	check("fields.Text:string5?")(layoutOf[by[onText]](false))
	check("fields.Heat:f32?")(layoutOf[by[onFloat]](false))
	check("Leaf:u8;Left:bool?^1;Right:[..4]^1")(layoutOf[tree](false))
	check("_:[..4]?{Trees[]:^1}")(layoutOf[forest](false))
	text, err = layoutOf[by[endless]](false)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(text, ";..."))
}

// forest holds itself in a list that its method writes by hand.
type forest struct{ Trees []forest }

func (f *forest) Serialize(s *wire.Serializer) {
	n := len(f.Trees)
	s.Count(&n, 4, 1)
	if s.IsReading() {
		f.Trees = make([]forest, n)
	}
	for i := range f.Trees {
		s.Nested(&f.Trees[i])
	}
}

func TestLayoutRefusesWhatCannotBeRead(t *testing.T) {
	for _, find := range []func(bool) (string, error){layoutOf[by[nilField]], layoutOf[by[nilRead]]} {
		_, err := find(false)
		require.ErrorAs(t, err, new(*wire.PanicError))
		require.ErrorContains(t, err, "Serialize panics on a zero value")
		require.ErrorContains(t, err, "if m.Field == nil { m.Field = new(T) }")
	}
	_, err := layoutOf[by[uneven]](false)
	require.ErrorContains(t, err, "writes nothing more where it reads fields.Kind:u8")
}
