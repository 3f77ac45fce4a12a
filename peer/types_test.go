package peer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// shifted numbers the types of the other end one higher, and knows those from 16 to 19.
func shifted() *Types {
	t := &Types{}
	for i := range t.In {
		t.In[i], t.Out[i] = 20, 21
	}
	for i := wire.MessageType(16); i < 20; i++ {
		t.In[i+1], t.Out[i] = i, i+1
	}
	t.In[255], t.Out[255] = 255, 255
	return t
}

// typesOf lists the types of the messages of a packet, and of the messages in its pieces.
func typesOf(in Incoming) (types []wire.MessageType) {
	for r := in.Messages(); r.Next(); {
		types = append(types, r.Header.Type)
		if r.Header.Type == wire.MessageFragment && len(r.Payload) > numberSize {
			types = append(types, wire.MessageType(r.Payload[numberSize]))
		}
	}
	return types
}

// Types are renumbered in all forms that a message has, on the way out and on the way in. Netcode's own messages stay.
func TestTypesAreRenumbered(t *testing.T) {
	theirs := NewConn(ConnConfig{Check: 7})
	ours := NewConn(ConnConfig{Check: 7, Types: shifted()})
	build := func(c *Conn) []byte {
		b := c.Begin(make([]byte, 400))
		add := func(ch wire.Channel, of wire.MessageType, body ...byte) {
			b.Switch(ch)
			require.True(t, b.Add(of, tick.Initialization, copy(b.Payload(), body)))
		}
		reliable := wire.NewChannel(wire.Reliable, 3)
		add(0, wire.MessageKeepAlive)
		add(0, 16, 1, 2)
		add(0, 17)
		add(0, 99)
		add(reliable, 18, 9, 0, 5)
		add(reliable, wire.MessageFragment, 10, 0, 19, 0, 0, 2, 7)
		add(reliable, wire.MessageFragment, 11, 0, byte(wire.MessageRefusal), 0, 0, 2, 7)
		add(reliable, wire.MessageFragment, 12)
		return c.Finish(&b, 1, time.Second)
	}
	in, err := theirs.Read(build(ours), time.Second, nil)
	require.NoError(t, err)
	require.Equal(t, []wire.MessageType{wire.MessageKeepAlive, 17, 18, 21, 19, 6, 20, 6, wire.MessageRefusal, 6}, typesOf(in)[:10])

	sent := build(theirs)
	kept := append([]byte(nil), sent...)
	in, err = ours.Read(sent, time.Second, nil)
	require.NoError(t, err)
	require.Equal(t, []wire.MessageType{wire.MessageKeepAlive, 20, 16, 20, 17, 6, 18, 6, wire.MessageRefusal, 6}, typesOf(in)[:10])
	require.Equal(t, kept, sent, "the caller's bytes stay as they are")
}

// Whatever the batches are, renumbering does not panic, changes types alone and stays within the bytes.
func FuzzRenumber(f *testing.F) {
	f.Add([]byte{9, 0, 16, 0, 3, 0, 1, 2, 3})
	f.Add([]byte{2, 0, 14, 0, 0x83, 6, 0, 7, 0, 1, 0, 18, 0, 0, 2, 9})
	f.Fuzz(func(t *testing.T, batches []byte) {
		same, there, back := &Types{}, shifted(), append([]byte{}, batches...)
		for i := range same.In {
			same.In[i] = wire.MessageType(i)
		}
		renumber(back, &same.In)
		require.Equal(t, batches, back)
		renumber(back, &there.In)
		require.Len(t, back, len(batches))
		before, after := readBatches(batches), readBatches(back)
		for before.Next() {
			require.True(t, after.Next())
			require.Equal(t, before.Channel, after.Channel)
			require.Equal(t, len(before.Payload), len(after.Payload))
			if before.Header.Type >= wire.FirstUserMessage {
				require.Equal(t, there.In[before.Header.Type], after.Header.Type)
			} else {
				require.Equal(t, before.Header, after.Header)
			}
		}
		require.False(t, after.Next())
	})
}
