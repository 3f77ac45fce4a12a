package admission

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/transport"
)

func TestADecisionIsMadeOnce(t *testing.T) {
	const until, now = 5 * time.Second, 4900 * time.Millisecond
	no := &errs.CloseError{Reason: errs.ReasonNotApproved}
	for name, row := range map[string]struct {
		do    func(d *Decision)
		now   time.Duration
		open  bool
		state State
	}{
		"waits":                 {func(*Decision) {}, now, true, Open},
		"its time is over":      {func(*Decision) {}, until, false, Open},
		"given":                 {func(d *Decision) { d.Accept("a", 0) }, now, false, Given},
		"refused":               {func(d *Decision) { d.Refuse(no) }, now, false, Refused},
		"a panic refuses later": {func(d *Decision) { d.Accept("a", 0); d.Refuse(no) }, now, false, Refused},
	} {
		t.Run(name, func(t *testing.T) {
			all, d := NewDecisions(), &Decision{Nonce: 1}
			require.True(t, d.IsOpen(until), "before it waits it has no end")
			all.Wait(d, until)
			row.do(d)
			require.Equal(t, row.open, d.IsOpen(row.now))
			require.Equal(t, row.state, d.State)
		})
	}
}

func TestDecisionsExpire(t *testing.T) {
	late := &errs.CloseError{Reason: errs.ReasonNotApproved, Detail: "late"}
	all := NewDecisions()
	at := transport.MustParseAddr("198.51.100.9:1")
	var list []*Decision
	for nonce := range uint64(4) {
		d := &Decision{Address: at, Nonce: nonce}
		all.Wait(d, 5*time.Second)
		list = append(list, d)
	}
	list[1].Accept("player", 6*time.Second)
	list[2].Refuse(late)
	all.Settle(list[3])
	require.Nil(t, all.Find(at, 3, ""))
	require.Same(t, list[0], all.Find(at, 0, ""))
	require.Nil(t, all.Find(transport.MustParseAddr("198.51.100.9:2"), 0, ""), "another address has not proved itself")
	require.Nil(t, all.Find(at, 0, "another user"))

	require.Zero(t, all.Expire(5*time.Second-1, late))
	require.EqualValues(t, 1, all.Expire(5*time.Second, late), "who was refused is not late")
	require.Equal(t, late, all.Refusal(0, 5*time.Second))
	require.Nil(t, all.Refusal(2, 5*time.Second))
	require.Equal(t, []State{Over, Given, Over, Over}, []State{list[0].State, list[1].State, list[2].State, list[3].State})
	require.Same(t, list[1], all.Find(at, 1, ""), "its next Join finds a place that was given late")
	require.Zero(t, all.Expire(6*time.Second, late))
	require.Zero(t, len(all.Waiting))
}

func TestDecisionsOfAnAddressAreBounded(t *testing.T) {
	all := NewDecisions()
	from := transport.MustParseAddr("198.51.100.9:1")
	limits := Limits{ClientsPerAddress: 2, ClientsPerNetwork: 3}
	for nonce := range uint64(2) {
		require.False(t, all.Crowded(from, limits))
		all.Wait(&Decision{Address: from, Nonce: nonce}, time.Second)
	}
	require.True(t, all.Crowded(from, limits))
	neighbour := transport.MustParseAddr("198.51.100.10:1")
	require.False(t, all.Crowded(neighbour, limits))
	all.Wait(&Decision{Address: neighbour, Nonce: 9}, time.Second)
	require.True(t, all.Crowded(transport.MustParseAddr("198.51.100.11:1"), limits), "three of the network")
	require.False(t, all.Crowded(transport.MustParseAddr("198.51.101.11:1"), limits))
	require.False(t, all.Crowded(transport.MustParseAddr("127.0.0.1:1"), limits))
	require.False(t, all.Crowded(from, Limits{}))
}

// Networks with many waiting decisions once filled the list for everybody: the newest of the host with the most makes room.
func TestDecisionsOfAHostMakeRoom(t *testing.T) {
	all := NewDecisions()
	var list []*Decision
	for i, from := range []string{"198.51.100.9:1", "198.51.100.9:2", "198.51.100.9:3", "203.0.113.1:1"} {
		d := &Decision{Address: transport.MustParseAddr(from), Nonce: uint64(i)}
		all.Wait(d, time.Second)
		list = append(list, d)
	}
	require.True(t, all.MakeRoom(transport.MustParseAddr("192.0.2.1:1"), 5), "there is room")
	require.False(t, all.MakeRoom(transport.MustParseAddr("198.51.100.9:4"), 4), "not for one more of the same host")
	require.Len(t, all.Waiting, 4)
	require.True(t, all.MakeRoom(transport.MustParseAddr("192.0.2.1:1"), 4))
	require.Equal(t, list[:2:2], all.Waiting[:2])
	require.Equal(t, Over, list[2].State, "the newest of the host with the most")
	require.Same(t, list[3], all.Waiting[2])
	require.True(t, all.MakeRoom(transport.MustParseAddr("192.0.2.1:1"), 3), "two are more than one")
	require.False(t, all.MakeRoom(transport.MustParseAddr("192.0.2.1:1"), 2), "one of a host is as many as the new one's")
}
