package message

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
	"github.com/stretchr/testify/require"
)

// Three types that differ only in their Go type.
type (
	first  struct{ V uint8 }
	second struct{ V uint8 }
	third  struct{ V uint8 }
)

// filled returns a codec whose Go type is an array of n bytes.
func filled(t testing.TB, name string, n int) Codec {
	return &resized{Codec: codec[first](t, name, nil), of: reflect.ArrayOf(n+1, reflect.TypeFor[uint8]())}
}

// resized is a codec that claims another Go type, to fill a registry.
type resized struct {
	Codec
	of reflect.Type
}

func (r *resized) GoType() reflect.Type { return r.of }

func TestNumbersDoNotDependOnTheOrderOfRegistration(t *testing.T) {
	for _, names := range [][]string{{"a", "b", "c"}, {"c", "a", "b"}, {"b", "c", "a"}} {
		var r Registry
		for _, name := range names {
			added := r.Add(Type{Name: name, Stage: tick.Update, Codec: filled(t, name, int(name[0]))})
			require.Zero(t, added.ID())
		}
		_, ok := r.Lookup(wire.FirstUserMessage)
		require.False(t, ok, "not before it is frozen")
		r.Freeze()
		r.Freeze()
		for i, name := range []string{"a", "b", "c"} {
			found, ok := r.Lookup(wire.FirstUserMessage + wire.MessageType(i))
			require.True(t, ok)
			require.Equal(t, name, found.Name)
			require.Equal(t, wire.FirstUserMessage+wire.MessageType(i), found.ID())
			require.Same(t, found, r.Types()[i])
		}
	}
}

func TestLookupOfEveryNumber(t *testing.T) {
	var r Registry
	r.Add(Type{Name: "a", Codec: codec[first](t, "a", nil)})
	r.Freeze()
	for id := range 256 {
		_, ok := r.Lookup(wire.MessageType(id))
		require.Equal(t, id == int(wire.FirstUserMessage), ok)
	}
}

func TestTypeOf(t *testing.T) {
	var r Registry
	b := r.Add(Type{Name: "b", Codec: codec[second](t, "b", nil)})
	a := r.Add(Type{Name: "a", Codec: codec[first](t, "a", nil)})
	of, _ := TypeOf[first](&r)
	require.Nil(t, of, "not before it is frozen")
	r.Freeze()
	of, codecOfA := TypeOf[first](&r)
	require.Same(t, a, of)
	require.Same(t, a.Codec, codecOfA)
	of, codecOfB := TypeOf[second](&r)
	require.Same(t, b, of)
	require.Same(t, b.Codec, codecOfB)
	of, none := TypeOf[third](&r)
	require.Nil(t, of)
	require.Nil(t, none)
	require.Equal(t, wire.FirstUserMessage, a.ID())
	alloctest.Zero(t, 50, func() { TypeOf[first](&r) })
}

func TestAddPanics(t *testing.T) {
	full := func(r *Registry) {
		for i := range MaxTypes {
			r.Add(Type{Name: fmt.Sprint(i), Codec: filled(t, fmt.Sprint(i), i)})
		}
	}
	of := func(name string) Codec { return codec[first](t, name, nil) }
	tests := []struct {
		name    string
		prepare func(*Registry)
		add     Type
		want    string
	}{
		{"no name", nil, Type{Codec: of("a")}, "without a name"},
		{"no codec", nil, Type{Name: "a"}, `"a" has no codec`},
		{"another's codec", nil, Type{Name: "a", Codec: of("b")}, `"a" has the codec of "b"`},
		{"no such stage", nil, Type{Name: "a", Codec: of("a"), Stage: tick.NumStages}, "stage 7"},
		{"no such direction", nil, Type{Name: "a", Codec: of("a"), Direction: FromServer + 1}, "direction 3"},
		{"name taken", func(r *Registry) { r.Add(Type{Name: "a", Codec: of("a")}) },
			Type{Name: "a", Codec: codec[second](t, "a", nil)}, `"a" is registered twice`},
		{"type taken", func(r *Registry) { r.Add(Type{Name: "a", Codec: of("a")}) },
			Type{Name: "b", Codec: of("b")}, `message.first is registered twice, as "a" and "b"`},
		{"full", full, Type{Name: "a", Codec: of("a")}, "one type too many, there is room for 239"},
		{"frozen", (*Registry).Freeze, Type{Name: "a", Codec: of("a")}, "after the protocol was first used"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var r Registry
			if test.prepare != nil {
				test.prepare(&r)
			}
			defer func() { require.ErrorContains(t, recover().(error), test.want) }()
			r.Add(test.add)
		})
	}
}

func TestTheLastNumberIsLegal(t *testing.T) {
	var r Registry
	for i := range MaxTypes {
		r.Add(Type{Name: fmt.Sprint(i), Codec: filled(t, fmt.Sprint(i), i)})
	}
	r.Freeze()
	last, ok := r.Lookup(wire.MaxMessageType)
	require.True(t, ok)
	require.True(t, last.ID().Valid())
}

// The text has everything that two ends must agree on.
func TestDescribeSaysEverything(t *testing.T) {
	base := Type{Name: "m", Codec: codec[chat](t, "m", nil)}
	require.Equal(t, "m{From:u32;Heat:f32[0,1,0.01]}[both ways;Unreliable 0]", string(base.Describe(nil)))
	tests := map[string]Type{
		"m{From:u32;Heat:f32[0,1,0.01]}[from client;ReliableOrdered 3;owner only]": {
			Codec: base.Codec, Channel: wire.NewChannel(wire.ReliableOrdered, 3), Direction: FromClient, OwnerOnly: true},
		"m{X:f32;Y:f32}[from server;Unreliable 0]":                           {Codec: codec[shot](t, "m", nil), Direction: FromServer},
		"m{serialized;Text:string64;Bits:[..16]u32}[both ways;Unreliable 0]": {Codec: codec[note](t, "m", nil)},
		"m{serialized;Text:string40}[both ways;Reliable 0]":                  {Codec: codec[measured](t, "m", nil), Channel: wire.NewChannel(wire.Reliable, 0)},
		"m{unpacked;From:u32;Heat:f32[0,1,0.01]}[both ways;Unreliable 0]": {Codec: func() Codec {
			c := codec[chat](t, "m", nil)
			c.Debug()
			return c
		}()},
	}
	for want, of := range tests {
		require.Equal(t, want, string(of.Describe(nil)))
	}
}

func TestDirections(t *testing.T) {
	for d, want := range map[Direction][2]bool{BothWays: {true, true}, FromClient: {true, false}, FromServer: {false, true}} {
		require.Equal(t, want, [2]bool{d.Allows(false), d.Allows(true)}, d.String())
		require.True(t, d.Valid())
	}
	require.False(t, Direction(3).Valid())
	require.Equal(t, "unknown direction", Direction(3).String())
}

func TestDebugOfAFrozenRegistryPanics(t *testing.T) {
	var r Registry
	r.Add(Type{Name: "shot", Codec: codec[shot](t, "shot", nil)})
	r.Debug()
	require.True(t, r.Types()[0].Codec.Plan().Debugging())
	r.Freeze()
	require.Panics(t, r.Debug)
}

// TestTypeOfFindsManyTypes has more types than distinct hashes: each is found, and one that is not registered is not.
func TestTypeOfFindsManyTypes(t *testing.T) {
	var r Registry
	place := goTypePlace(codec[order](t, "order", nil).GoType())
	want := r.Add(Type{Name: "order", Codec: codec[order](t, "order", nil)})
	other := r.Add(Type{Name: "a", Codec: codec[shot](t, "a", nil)})
	_, c := TypeOf[order](&r)
	require.Nil(t, c, "not frozen")
	r.Freeze()
	r.places = [goTypePlaces]*Type{} // Both in the last place: the second one wraps around.
	r.places[place], r.places[(place+1)%goTypePlaces] = other, want
	of, c := TypeOf[order](&r)
	require.Same(t, want, of)
	require.Same(t, want.Codec, Codec(c))
	of, none := TypeOf[note](&r)
	require.Nil(t, of)
	require.Nil(t, none)
}
