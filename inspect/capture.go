package inspect

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// ErrCapture means that a file is no pcap file that Tap can read.
var ErrCapture = errors.New("inspect: not a pcap file: write one with tcpdump -w, or convert another one with editcap -F pcap")

// Limits of a capture.
const (
	maxCaptured = 1 << 18 // maximum bytes of a frame
	maxFlows    = 1024    // maximum number of flows with decoded state; each has a replica
)

// linkHeader returns the number of bytes before the IP header, by the link type of a pcap file.
func linkHeader(linkType uint32) (size int, ok bool) {
	switch linkType {
	case 0: // loopback of BSD
		return 4, true
	case 1: // Ethernet
		return 14, true
	case 101, 228, 229: // raw IP
		return 0, true
	case 113: // tcpdump -i any
		return 16, true
	case 276: // the same, version 2
		return 20, true
	}
	return 0, false
}

// flow is one direction between two addresses.
type flow struct{ from, to netip.AddrPort }

// capture is a pcap file that Tap reads.
type capture struct {
	protocol *netcode.Protocol
	order    binary.ByteOrder
	second   uint32 // fractions of a second in timestamps
	link     int
	flows    map[flow]*replica.Replica
	keys     Keys
	filter   Filter
	clients  map[netip.AddrPort]wire.ClientID // by their Welcomes
}

// Keys opens the datagrams of an encrypting transport; secure.KeyLog implements it. If a datagram contains none of netcode, plain
// is nil, and the second result describes it in words.
type Keys interface {
	Open(datagram []byte) (plain []byte, what string) // May be called repeatedly for one datagram.
}

// mostPlain is the maximum size of a datagram without fragmentation on Ethernet. A larger one may be several: see capture.split.
const mostPlain = 1472

// Tap reads a pcap file of UDP sessions and writes each datagram as text: time, addresses, and the output of AppendDump. It
// decodes state as the client did, if the capture contains the start of the session. A record without its baseline ends the text
// of its packet. Frames without a UDP datagram are skipped; of a partly captured datagram only the sizes are written. Frames with
// several datagrams (GSO, GRO) are split if the packet numbers are consecutive.
//
// keys opens the datagrams of sessions over transport/secure; it is nil for unencrypted sessions. p is the game's protocol. A
// Filter selects clients, entities and components. The errors are ErrCapture and those of in and out. A file that ends within
// a frame is no error.
func Tap(out io.Writer, p *netcode.Protocol, in io.Reader, keys Keys, filter ...Filter) error {
	input, text := bufio.NewReader(in), bufio.NewWriter(out)
	c := capture{protocol: p, flows: map[flow]*replica.Replica{}, keys: keys, clients: map[netip.AddrPort]wire.ClientID{}}
	if len(filter) > 0 {
		c.filter = filter[0]
	}
	if err := c.begin(input); err != nil {
		return err
	}
	var line []byte
	for head := make([]byte, 16); ; {
		if _, err := io.ReadFull(input, head); err != nil {
			return errors.Join(ended(err), text.Flush())
		}
		size := c.order.Uint32(head[8:])
		if size > maxCaptured {
			return errors.Join(fmt.Errorf("%w: a frame of %d bytes", ErrCapture, size), text.Flush())
		}
		frame := make([]byte, size)
		if _, err := io.ReadFull(input, frame); err != nil {
			return errors.Join(ended(err), text.Flush())
		}
		f, datagram, whole, ok := c.datagram(frame)
		if !ok {
			continue
		}
		micros := uint64(c.order.Uint32(head[4:])) * 1e6 / uint64(c.second)
		line = fmt.Appendf(line[:0], "%d.%06d %v > %v: ", c.order.Uint32(head), micros, f.from, f.to)
		if _, err := text.Write(c.appendAll(line, f, datagram, whole)); err != nil {
			return err
		}
	}
}

// appendAll appends the text of a datagram of size bytes, or of each datagram in it. line is the prefix of each.
func (c *capture) appendAll(line []byte, f flow, datagram []byte, size int) []byte {
	if len(datagram) < size {
		return fmt.Appendf(line, "%d of %d bytes were captured: tcpdump -s 0 takes whole datagrams\n", len(datagram), size)
	}
	head, dst := string(line), line[:0]
	for n := c.split(datagram); len(datagram) > 0; datagram = datagram[min(n, len(datagram)):] {
		at := len(dst)
		dst = c.appendOpened(append(dst, head...), f, datagram[:min(n, len(datagram))])
		if dst = c.filter.cut(dst, at); !c.filter.takesFlow(f, c.clients) {
			dst = dst[:at]
		}
	}
	return dst
}

// split returns the size of the datagrams inside a captured one, except the last: its own size if it is a single one.
// Segmentation offload (GSO, GRO) shows several as one.
func (c *capture) split(datagram []byte) int {
	if len(datagram) <= mostPlain || c.keys != nil && c.opens(datagram) {
		return max(len(datagram), 1)
	}
	for n := min(len(datagram)-1, wire.MaxPacketSize); n >= wire.MinPacketHeader; n-- {
		if c.keys != nil && c.opens(datagram[:n]) || c.keys == nil && follow(datagram, n) {
			return n
		}
	}
	return len(datagram)
}

// opens reports whether keys open a datagram.
func (c *capture) opens(datagram []byte) bool {
	plain, _ := c.keys.Open(datagram)
	return plain != nil
}

// follow reports whether a datagram consists of several packets of n bytes. Their numbers must be consecutive, with at most one
// skipped in between, and their acknowledgements equal.
func follow(datagram []byte, n int) bool {
	last, _, err := wire.ParsePacketHeader(datagram)
	for at := n; err == nil && at < len(datagram); at += n {
		var h wire.PacketHeader
		h, _, err = wire.ParsePacketHeader(datagram[at:])
		if next := h.Sequence - last.Sequence; next != 1 && next != 2 || h.HasAck != last.HasAck || h.Ack != last.Ack || h.AckBits != last.AckBits {
			return false
		}
		last = h
	}
	return err == nil
}

// appendOpened is append of a datagram, opened by keys if there are any.
func (c *capture) appendOpened(dst []byte, f flow, datagram []byte) []byte {
	if c.keys == nil {
		return c.append(dst, f, datagram)
	}
	plain, what := c.keys.Open(datagram)
	if plain == nil {
		return fmt.Appendf(dst, "%d bytes: %s\n", len(datagram), what)
	}
	return c.append(dst, f, plain)
}

// ended returns nil for the end of a file, and other errors unchanged.
func ended(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil
	}
	return err
}

// begin reads the header of the file.
func (c *capture) begin(in io.Reader) error {
	head := make([]byte, 24)
	if _, err := io.ReadFull(in, head); err != nil {
		return fmt.Errorf("%w (%w)", ErrCapture, err)
	}
	c.order = binary.LittleEndian
	if head[0] == 0xA1 {
		c.order = binary.BigEndian
	}
	switch c.order.Uint32(head) {
	case 0xA1B2C3D4:
		c.second = 1e6
	case 0xA1B23C4D:
		c.second = 1e9
	default:
		return ErrCapture
	}
	var known bool
	if c.link, known = linkHeader(c.order.Uint32(head[20:]) & 0xFFFF); !known {
		return fmt.Errorf("%w: it has frames of link type %d", ErrCapture, c.order.Uint32(head[20:]))
	}
	return nil
}

// datagram finds the UDP datagram in a frame. size is its full size; the capture may have less. A fragment is none.
func (c *capture) datagram(frame []byte) (f flow, datagram []byte, size int, ok bool) {
	start := c.link
	for start == 14 && len(frame) >= start+4 && frame[start-2] == 0x81 && frame[start-1] == 0 { // The tag of a virtual LAN.
		frame = frame[4:]
	}
	if len(frame) < start+20 {
		return f, nil, 0, false
	}
	packet := frame[start:]
	var from, to netip.Addr
	switch size := int(packet[0]&15) * 4; packet[0] >> 4 {
	case 4:
		if packet[9] != 17 || binary.BigEndian.Uint16(packet[6:])&0x3FFF != 0 || size < 20 || len(packet) < size {
			return f, nil, 0, false
		}
		from, to = netip.AddrFrom4([4]byte(packet[12:])), netip.AddrFrom4([4]byte(packet[16:]))
		packet = packet[size:]
	case 6:
		if len(packet) < 40 || packet[6] != 17 {
			return f, nil, 0, false
		}
		from, to = netip.AddrFrom16([16]byte(packet[8:])), netip.AddrFrom16([16]byte(packet[24:]))
		packet = packet[40:]
	default:
		return f, nil, 0, false
	}
	if len(packet) < 8 {
		return f, nil, 0, false
	}
	if size = int(binary.BigEndian.Uint16(packet[4:])) - 8; size < 0 {
		return f, nil, 0, false
	}
	port := func(at int) uint16 { return binary.BigEndian.Uint16(packet[at:]) }
	return flow{netip.AddrPortFrom(from, port(0)), netip.AddrPortFrom(to, port(2))}, packet[8:][:min(size, len(packet)-8)], size, true
}

// append appends the text of a datagram and decodes its state.
func (c *capture) append(dst []byte, f flow, datagram []byte) []byte {
	if client, _, ok := parseWelcome(datagram); ok && len(c.clients) < maxFlows {
		c.clients[f.to] = client
	}
	if peer.KindOf(datagram) != peer.KindPacket {
		delete(c.flows, f) // A session begins or ends.
	}
	return dump(dst, c.protocol, datagram, func(dst, payload []byte) []byte {
		known := c.flows[f]
		if known == nil {
			bits := wire.NewBitReader(payload)
			start := tick.Near(uint16(bits.Read(16)), tick.None+1<<15)
			known = replica.New(c.protocol.Schema(), snapshot.Config{}, start-1)
			if len(c.flows) < maxFlows {
				c.flows[f] = known
			}
		}
		dst = known.AppendDump(dst, payload)
		_ = known.Read(payload) // On an error the client requests the state again.
		return dst
	})
}
