package message

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
	"github.com/stretchr/testify/require"
)

type chat struct {
	From  uint32
	Heat  float32 `net:"min=0,max=1,step=0.01"`
	Local int     `net:"-"`
}

type shot struct{ X, Y float32 }

func plan[T any](t testing.TB, name string) *wire.Plan {
	t.Helper()
	p, err := wire.Compile(reflect.TypeFor[T](), name)
	require.NoError(t, err)
	return p
}

func nothing(*Context, []byte) {}

func TestNumbersDoNotDependOnTheOrderOfRegistration(t *testing.T) {
	for _, names := range [][]string{{"a", "b", "c"}, {"c", "a", "b"}, {"b", "c", "a"}} {
		var r Registry
		for _, name := range names {
			added := r.Add(Type{Name: name, Stage: tick.Update, Handle: nothing})
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
			require.Equal(t, tick.Update, found.Stage)
		}
	}
}

func TestLookupOfEveryNumber(t *testing.T) {
	var r Registry
	r.Add(Type{Name: "a", Handle: nothing})
	r.Freeze()
	for id := range 256 {
		_, ok := r.Lookup(wire.MessageType(id))
		require.Equal(t, id == int(wire.FirstUserMessage), ok)
	}
}

func TestIDOf(t *testing.T) {
	var r Registry
	_, ok := r.IDOf(reflect.TypeFor[chat]())
	require.False(t, ok)
	r.Add(Type{Name: "shot", Plan: plan[shot](t, "shot"), Handle: nothing})
	r.Add(Type{Name: "chat", Plan: plan[chat](t, "chat"), Handle: nothing})
	_, ok = r.IDOf(reflect.TypeFor[chat]())
	require.False(t, ok, "not before it is frozen")
	r.Freeze()
	id, ok := r.IDOf(reflect.TypeFor[shot]())
	require.True(t, ok)
	require.Equal(t, wire.FirstUserMessage+1, id)
	_, ok = r.IDOf(reflect.TypeFor[int]())
	require.False(t, ok)
}

func TestAddPanics(t *testing.T) {
	full := func(r *Registry) {
		for i := range MaxTypes {
			r.Add(Type{Name: fmt.Sprint(i), Handle: nothing})
		}
	}
	tests := []struct {
		name    string
		prepare func(*Registry)
		add     Type
		want    string
	}{
		{"no name", nil, Type{Handle: nothing}, "without a name"},
		{"no handler", nil, Type{Name: "a"}, `"a" has no handler`},
		{"no such stage", nil, Type{Name: "a", Handle: nothing, Stage: tick.NumStages}, "stage 7"},
		{"name taken", func(r *Registry) { r.Add(Type{Name: "a", Handle: nothing}) }, Type{Name: "a", Handle: nothing}, `"a" is registered twice`},
		{"type taken", func(r *Registry) { r.Add(Type{Name: "a", Plan: plan[chat](t, "a"), Handle: nothing}) },
			Type{Name: "b", Plan: plan[chat](t, "b"), Handle: nothing}, `message.chat is registered twice, as "a" and "b"`},
		{"full", full, Type{Name: "a", Handle: nothing}, "one type too many, there is room for 239"},
		{"frozen", (*Registry).Freeze, Type{Name: "a", Handle: nothing}, "after the protocol was first used"},
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
		r.Add(Type{Name: fmt.Sprint(i), Handle: nothing})
	}
	r.Freeze()
	last, ok := r.Lookup(wire.MaxMessageType)
	require.True(t, ok)
	require.True(t, last.ID().Valid())
}
