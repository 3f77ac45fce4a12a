package nats

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/tick"
)

// A sender that floods fills its share, and the others' messages come in their order. What was handled makes room.
func TestAQueueIsBounded(t *testing.T) {
	b := newInbox(16, time.Second)
	k := &kind{stage: tick.Update}
	push := func(from string, n int) (in int) {
		for i := range n {
			if b.push(item{kind: k, from: from, body: []byte{byte(i)}}) {
				in++
			}
		}
		return in
	}
	require.Equal(t, 4, push("flood", 1000))
	for i := range 3 {
		require.Equal(t, 4, push(fmt.Sprint("other", i), 4))
	}
	require.Zero(t, push("late", 1))
	var s Stats
	b.add(&s)
	require.EqualValues(t, 996, s.Greedy)
	require.EqualValues(t, 1, s.Full)
	got := 0
	b.drain(tick.Update, 1, 0, func(it *item) { got++ })
	require.Equal(t, 16, got)
	require.Empty(t, b.by)
	require.Zero(t, b.bytes)
	require.Equal(t, 4, push("late", 5))
	big := newInbox(4096, time.Second)
	n := 0
	for big.push(item{kind: k, from: fmt.Sprint(n), body: make([]byte, MaxBody)}) {
		n++
	}
	require.Equal(t, queueBytes/MaxBody, n)
}

// A message waits for its stage and its tick, not longer than is patient, and those behind it overtake it.
func TestAMessageWaitsForItsTick(t *testing.T) {
	b := newInbox(64, time.Second)
	early, update := &kind{name: "early", stage: tick.EarlyUpdate}, &kind{name: "update", stage: tick.Update}
	var got []string
	frame := func(now tick.Tick, at time.Duration) []string {
		got = nil
		for stage := range tick.Stage(tick.NumStages) {
			b.drain(stage, now, at, func(it *item) { got = append(got, it.kind.name+string(it.body)) })
		}
		return got
	}
	b.push(item{kind: update, from: "a", body: []byte("1"), before: 12})
	b.push(item{kind: update, from: "a", body: []byte("2")})
	b.push(item{kind: early, from: "a", body: []byte("3")})
	b.push(item{kind: update, from: "a", body: []byte("4"), before: 1 << 20}) // Too far: it goes at once.
	b.push(item{kind: update, from: "a", body: []byte("5"), before: 1000})
	require.Equal(t, []string{"early3", "update2"}, frame(10, 0))
	require.Empty(t, frame(11, 0))
	require.Equal(t, []string{"update1"}, frame(12, 500*time.Millisecond))
	require.Empty(t, frame(13, 2*time.Second))
	var s Stats
	b.add(&s)
	require.EqualValues(t, 2, s.Late)
	require.Zero(t, b.count)
}

type ping struct{ N uint32 }

// Whatever comes from NATS does not panic, and is counted.
func FuzzMessagesFromNATS(f *testing.F) {
	head := envelope{from: "a", tick: 7, before: 9}
	p := NewMessages()
	Handle(p, func(*Context, *ping) {}, tick.Update)
	for fingerprint := range p.kinds {
		head.fingerprint = fingerprint
	}
	f.Add("netcode.game.all", append(head.append(make([]byte, 0, maxEnvelope)), 1, 2, 3, 4))
	f.Add("netcode.game.p."+userToken("anna"), append(head.append(make([]byte, 0, maxEnvelope)), 1, 2, 3))
	f.Add("", []byte{1})
	p.freeze()
	n := &Node{config: Config{Fleet: "game", Messages: p}, start: time.Now(), matches: map[string]*Match{}}
	m := &Match{node: n, config: MatchConfig{ID: "m"}, inbox: newInbox(8, time.Second)}
	m.users.clients = map[string]netcode.ClientID{"anna": 1}
	n.matches["m"] = m
	var scratch message.Scratch
	f.Fuzz(func(t *testing.T, subject string, data []byte) {
		n.take(&scratch, subject, data)
		m.inbox.drain(tick.Update, 1<<40, 0, func(it *item) {
			require.True(t, legalName(it.from))
			require.True(t, it.kind.handle(&Context{}, &scratch, it.body))
		})
	})
}

// Values in the directory, of whatever bytes, are refused, or are values that a process writes: encoded again they say the same.
func FuzzTheDirectory(f *testing.F) {
	f.Add("server.a", encode(serverEntry{Session: "5", Fence: 3, Address: "127.0.0.1:9000", Data: "eu", Takes: true}))
	f.Add("match.m-1", encode(matchEntry{Server: "a", Fence: 3, Point: "checkpoint.m.3.1", Saved: 77}))
	f.Add(playerPrefix+userToken("ann æ"), encode(playerEntry{Server: "a", Fence: 3, Match: "m"}))
	f.Add("player.!", []byte(`{"server":"a","match":"m"}`))
	f.Add("match.m", []byte(`{"server":"a","tick":9223372036854775807}`))
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		d := newDirectory()
		d.put(key, value, 5)
		for name, s := range d.servers {
			_, again, err := decodeServer(serverKey(name), encode(s.entry))
			require.NoError(t, err)
			require.Equal(t, s.entry, again)
		}
		for id, m := range d.matches {
			_, again, err := decodeMatch(matchKey(id), encode(m.entry))
			require.NoError(t, err)
			require.Equal(t, m.entry, again)
			d.info(id)
		}
		for user, p := range d.players {
			name, again, err := decodePlayer(playerPrefix+userToken(user), encode(p.entry))
			require.NoError(t, err)
			require.Equal(t, user, name)
			require.Equal(t, p.entry, again)
		}
		require.EqualValues(t, 1, d.foreign+uint64(len(d.servers)+len(d.matches)+len(d.players)))
		d.put(key, nil, 6)
		require.Empty(t, len(d.servers)+len(d.matches)+len(d.players))
	})
}

// A checkpoint of whatever bytes is refused, or is one: encoded again it has the same bytes.
func FuzzCheckpoint(f *testing.F) {
	c := Checkpoint{Tick: 99, Rate: 30, Extra: []byte("score"), players: []former{{client: 3, user: "anna"}, {client: 9, user: "\xff"}}, saved: []byte("saved")}
	b, err := c.encode()
	require.NoError(f, err)
	f.Add(b)
	f.Add([]byte(checkpointMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decodeCheckpoint(b)
		if err != nil {
			require.ErrorIs(t, err, ErrCheckpoint)
			return
		}
		again, err := c.encode()
		require.NoError(t, err)
		same, err := decodeCheckpoint(again)
		require.NoError(t, err)
		require.Equal(t, c, same)
	})
}

// A directory that somebody fills keeps no more than its bounds, and older news than the newest changes nothing.
func TestTheDirectoryIsBounded(t *testing.T) {
	d := newDirectory()
	value := encode(serverEntry{Session: "s"})
	for i := range maxServers + 10 {
		d.put(serverKey(fmt.Sprint("s", i)), value, uint64(i+1))
	}
	require.Len(t, d.servers, maxServers)
	require.EqualValues(t, 10, d.full)
	d.put(serverKey("s1"), encode(serverEntry{Session: "t", Fence: 2}), 9000)
	d.put(serverKey("s1"), nil, 8999)
	require.Equal(t, "t", d.servers["s1"].entry.Session)
	d.put("match.m", []byte(strings.Repeat("x", maxValue+1)), 9001)
	d.put("match.m.x", encode(matchEntry{Server: "s1"}), 9002)
	require.Empty(t, d.matches)
	require.EqualValues(t, 2, d.foreign)
	d.put("match.m", encode(matchEntry{Server: "s1", Fence: 2}), 9003)
	require.Empty(t, d.orphans())
	d.put(serverKey("s1"), nil, 9004)
	d.put(playerPrefix+userToken("anna"), encode(playerEntry{Server: "s1", Fence: 2, Match: "m"}), 9005)
	require.Empty(t, d.orphans(), "the watch has not told all: the server may come yet")
	require.Empty(t, d.strays(9))
	d.sweep()
	require.Equal(t, []string{"m"}, d.orphans())
	require.Len(t, d.strays(9), 1)
	d.put(playerPrefix+userToken("anna"), nil, 9006)
	require.Empty(t, d.strays(9))
	require.False(t, d.died, "nobody is looked for any more")
	d.begin()
	d.put(serverKey("s2"), value, 9007)
	d.sweep()
	require.Len(t, d.servers, 1, "a watch that is begun anew tells all there is")
	require.Empty(t, d.matches)
}
