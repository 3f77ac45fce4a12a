package peer

import "github.com/arche-netcode/netcode/wire"

// Types tells how the other end numbers the types of messages, where its protocol is another one. A Conn changes the numbers in the packets
// that come and go: all else of this end has its own. A number that is 0 is malformed at the receiver, so each has one.
type Types struct {
	In  [1 << 8]wire.MessageType // by their number: ours
	Out [1 << 8]wire.MessageType // by our number: theirs
}

// renumber changes the types of the game's messages in the batches of a packet, in their place. It stops at what is malformed.
func renumber(batches []byte, by *[1 << 8]wire.MessageType) {
	for r := readBatches(batches); r.Next(); {
		switch h := r.Header; {
		case h.Type >= wire.FirstUserMessage:
			batches[r.Start()-wire.MessageHeaderSize] = byte(by[h.Type])
		case h.Type == wire.MessageFragment && r.Channel.Delivery().Reliable() && len(r.Payload) > numberSize:
			if of := wire.MessageType(r.Payload[numberSize]); of >= wire.FirstUserMessage { // A refusal may come in pieces too.
				r.Payload[numberSize] = byte(by[of])
			}
		}
	}
}
