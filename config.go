package netcode

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/arche-netcode/netcode/internal/admission"
	"github.com/arche-netcode/netcode/internal/calls"
	"github.com/arche-netcode/netcode/internal/endpoint"
	"github.com/arche-netcode/netcode/internal/handshake"
	"github.com/arche-netcode/netcode/internal/held"
	"github.com/arche-netcode/netcode/internal/link"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// maxFirstTick leaves room for any number of ticks.
const maxFirstTick Tick = 1 << 62

// Config holds every limit and setting of a server or a client. The zero value means the defaults:
//
//	Ticks       TickRate 30, FirstTick 1, CatchUp 4
//	State       Window 64 (two seconds, if these are more ticks), Entities 1024, MaxEntities 65536, HistoryBytes 134217728
//	Line        PacketSize 1200, SendBudget 65536, SentPackets 1024, KeepAlive 1s, Pulse 250ms
//	Messages    OutboxBytes 65536, ReliableBytes 262144, QueuePerSender 1024, Deferred 64, DeferredTime 2s, Calls 256, History 0
//	Who comes   Clients 64, ClientsPerAddress 8, ClientsPerNetwork 16, HandshakesPerAddress 256, HandshakesPerNetwork 1024, HandshakeTimeout 5s
//	Who goes    SilenceTimeout 10s, ReliableStall 5s, FloodFrames 64, Strikes 16, FlushTimeout 1s, LeaveTimeout 2s
//	Who returns Keep 0s
//
// TickRate, Window and PacketSize are the server's to choose: a client takes them from the server when it connects.
type Config struct {
	TickRate   int  // Network ticks a second, 1 to MaxTickRate; default 30. The frame rate is free.
	FirstTick  Tick // Number of the server's first tick, 1 to 2^62, as when a saved game goes on; default 1. Server only.
	PacketSize int  // Bytes in one datagram at most, MinPacketSize to MaxPacketSize; default 1200.
	// Window is the history window in ticks, MinWindow to MaxWindow; default: the larger of 64 ticks and two seconds, which is
	// four round trips of half a second.
	Window int

	Clients int // Clients connected at a time, 1 to MaxClients; default 64. Server only.
	// ClientsPerAddress bounds the clients connected at a time from one IPv4 address or IPv6 /64, which is one host; below 0: any number;
	// default: an eighth of Clients, at least 8. In a private or link-local network of IPv6 each address is a host. A client that is refused gets errs.ReasonCrowded. This machine's own addresses (127.0.0.1, ::1) and transports without IP are
	// exempt. Server only.
	ClientsPerAddress int
	// ClientsPerNetwork is the same for a network: the /24 around an IPv4 address, the /56 around an IPv6 one, with twice as many for a /48;
	// default: a quarter of Clients, at least 16. Private and link-local networks are exempt too: a LAN is one network. Server only.
	ClientsPerNetwork int
	// HandshakesPerAddress bounds the handshake datagrams that are answered a second, from one host as in
	// ClientsPerAddress; below 0: any number; default 256. A client sends some ten a second. A client without another answer in time ends with
	// errs.ReasonBusy. The same addresses are exempt as for ClientsPerAddress. Server only.
	HandshakesPerAddress int
	// HandshakesPerNetwork is the same for a network; default 1024. The same networks are exempt as for ClientsPerNetwork. Server only.
	HandshakesPerNetwork int
	Entities             int // Replicated entities to make room for at the start; more may come, up to MaxEntities. Default 1024.
	// MaxEntities bounds the replicated entities of the server, 1 to 2^20; default 65536, or Entities if that is more. A
	// server refuses to spawn more (Stats.EntitiesRefused). A client ends the connection with errs.ReasonTooManyEntities when
	// it is sent an entity with a higher number, whether it sees the others or not: give both ends the same. An entity can be
	// told of in a byte, and takes some 600 bytes of a client beside its components: so much times MaxEntities, 40 MB by default,
	// is what a hostile server can make a client take.
	MaxEntities int
	// SentPackets is the number of records of sent packets that are kept per peer, 64 to 16384, rounded up to a power of two; default 1024.
	// They have to hold the packets of four round trips: TickRate, or with much to send SendBudget / PacketSize if that is more, times
	// four times the round trip in seconds. With fewer, sending stops at times until acknowledgements come (Stats.SentRingFull);
	// the smaller one of two ends limits both.
	SentPackets int
	// SendBudget bounds the bytes that are sent to each peer in a second, without the 28 of IP and UDP for each packet; default 65536
	// (64 KiB), at most 1 GiB. Congestion control sends less where the line takes less (ClientStats.Line, Client.Line). Below 0 there is
	// neither a bound nor congestion control: for a LAN, and for tests. Each network tick sends its share, in packets of 96 bytes at
	// least: what is less is saved. Server.SetBudget changes it for one client.
	SendBudget int
	// HistoryBytes bounds the memory for the versions of the last Window; default 128 MiB. A changed row takes its size,
	// and up to 64 bytes for all of a page. Room for an entity takes 8.5 for each component, also beyond the bound. If it is full, the oldest versions are forgotten, and rows are sent whole that
	// would be coded against them. Server only.
	HistoryBytes int
	NoRepeat     bool // Do not spend idle ticks on repeating what is not confirmed yet. Server only.

	// QueuePerSender bounds the unreliable messages that are taken from one sender in a frame; default 1024, and 256 KiB of them. Beyond
	// that they are dropped. 512 messages for each of Clients, at least 32768, may wait for one stage. Where that is full an equal
	// share of it is everyone's own. Who has more makes room: of unreliable messages the oldest is dropped, and where there are only
	// reliable ones the connection of whoever has the most ends. The bytes of received messages in one frame are bounded alike.
	QueuePerSender int
	// FloodFrames is the number of frames beyond QueuePerSender or its bytes, less those in which it sent and stayed below, that a client has until it
	// is closed; default 64. Server only.
	FloodFrames   int
	OutboxBytes   int // Bytes of unreliable messages that wait to be sent to one peer; default 64 KiB, beyond that sending fails.
	ReliableBytes int // Bytes of reliable messages that wait for one peer or are not acknowledged; default 256 KiB, as above.
	// Deferred bounds the unreliable messages of one sender that wait for a tick or an entity; default 64, and 16 KiB of them. Beyond that they are
	// dropped. Reliable ones are bounded by their sender's credit. A server keeps back as much again as OutboxBytes and
	// ReliableBytes say, of either kind, about entities that a client does not have yet.
	Deferred int
	Strikes  int // Packets with writes that no honest client sends, until its connection ends; default 16. Server only.
	Calls    int // Questions that wait for their answers, 1 to 4096; default 256, beyond that Call fails.
	History  int // Past frames whose messages are kept for looking at, beside the present one; default 0.

	// Keep is for how long a player whose connection was lost may come back, with the identity that OnApprove gave it, and gets its client
	// id back; default 0: it is a new player then. See Server.OnLeave. Server only.
	Keep time.Duration
	// KeepClosed keeps the place of a player that closed in order, as by Ctrl-C, for Keep too. Default: such a player has left for good. Server
	// only.
	KeepClosed bool
	// RefuseSecond refuses a client whose player, by its identity, is connected already: errs.ReasonAlreadyConnected. Default: the new
	// connection takes over, and the old one ends with errs.ReasonTakenOver. With it, a player whose line broke cannot come back before the
	// old connection's SilenceTimeout. Server only.
	RefuseSecond bool

	HandshakeTimeout time.Duration // How long connecting may take, and how long a server's OnApprove; default 5 s.
	SilenceTimeout   time.Duration // The connection to a peer that sends nothing for so long ends; default 10 s.
	KeepAlive        time.Duration // Something is sent at least this often; default 1 s.
	Pulse            time.Duration // A client is told the server's tick at least this often, in a world at rest too; default 250 ms. Alike on both sides.
	DeferredTime     time.Duration // How long an unreliable message waits for its tick or entity; default 2 s, beyond that it is dropped. A reliable one waits so long for its entity's state, and SilenceTimeout for its entity.
	ReliableStall    time.Duration // A peer that lets reliable messages wait for this long, and was not asked to (NotBefore), is closed; default 5 s.
	FlushTimeout     time.Duration // How long closing waits for messages to be delivered; default 1 s.
	LeaveTimeout     time.Duration // How long reliable messages of an end that has closed may still wait to be handled; default 2 s.
	CatchUp          int           // Ticks made up for after a stall; default 4, beyond that time slips.

	// Rejoin lets a client connect again by itself when its server does not know the session any more (errs.ReasonReset), as after a
	// restart. OnDisconnect comes, and then OnConnect with a new ID, as if the game had called Connect. Client only.
	Rejoin bool
	// ResetKey makes the resets of a server that was restarted its own: give each start of it the same 32 random bytes, which nobody else
	// has. Zero: random for each start; then clients believe it after half a second of silence. Of a server at rest they ask no sooner
	// either way: after two Pulses. Server only.
	ResetKey [32]byte

	Random io.Reader // Source of epochs, nonces and secrets; default crypto/rand.Reader. Seed it in tests only.
	// Plain lets a server listen on an address that is neither loopback nor private without encryption: anyone on the path can then
	// read and change everything. See Server.MayListen. Server only.
	Plain bool
	// Logger is the log, at most some ten lines a second: a *slog.Logger, or one of your own. Default: the faults that no OnError is
	// told of, by package log.
	Logger Logger
}

// Logger takes the lines of Config.Logger, which *slog.Logger does: a text, and names and values in turn. It is an interface because
// log/slog would make each client for browsers larger by 0.13 MB.
type Logger interface {
	Info(text string, args ...any)  // Somebody connected or left.
	Warn(text string, args ...any)  // A remote end, or the network, does what it should not.
	Error(text string, args ...any) // The program has a fault.
}

// number is a number of a Config, its default and its range.
type number struct {
	field           string
	value           *int
	usual, min, max int
}

// numbers lists the numbers of a Config that have a range.
func (c *Config) numbers() []number {
	entities := 1024
	if c.MaxEntities > 0 {
		entities = min(entities, c.MaxEntities)
	}
	return []number{
		{"PacketSize", &c.PacketSize, 1200, wire.MinPacketSize, wire.MaxPacketSize},
		{"Window", &c.Window, min(max(wire.MinWindow, 2*c.TickRate), wire.MaxWindow), wire.MinWindow, wire.MaxWindow},
		{"ClientsPerAddress", &c.ClientsPerAddress, max(8, c.Clients/8), math.MinInt, wire.MaxClients},
		{"ClientsPerNetwork", &c.ClientsPerNetwork, max(16, c.Clients/4), math.MinInt, wire.MaxClients},
		{"HandshakesPerAddress", &c.HandshakesPerAddress, 256, math.MinInt, 1 << 20},
		{"HandshakesPerNetwork", &c.HandshakesPerNetwork, 1024, math.MinInt, 1 << 20},
		{"MaxEntities", &c.MaxEntities, max(1<<16, c.Entities), 1, snapshot.MaxEntities},
		{"Entities", &c.Entities, entities, 1, cmp.Or(c.MaxEntities, math.MaxInt)},
		{"SentPackets", &c.SentPackets, 1024, 64, 1 << 14},
		{"SendBudget", &c.SendBudget, 64 << 10, math.MinInt, math.MaxInt},
		{"HistoryBytes", &c.HistoryBytes, 128 << 20, 1 << 16, 1<<31 - 1},
		{"QueuePerSender", &c.QueuePerSender, 1024, 1, 1 << 24},
		{"FloodFrames", &c.FloodFrames, 64, 1, 1 << 20},
		{"OutboxBytes", &c.OutboxBytes, 64 << 10, wire.MinPacketSize, 1 << 30},
		{"ReliableBytes", &c.ReliableBytes, 256 << 10, wire.MinPacketSize, 1 << 30},
		{"Deferred", &c.Deferred, 64, 1, 1 << 16},
		{"Strikes", &c.Strikes, 16, 1, 1 << 24},
		{"Calls", &c.Calls, 256, 1, calls.MaxOpen},
		{"History", &c.History, 0, 0, 1 << 10},
		{"CatchUp", &c.CatchUp, 4, 1, 1 << 10},
	}
}

// span is a time of a Config and its default.
type span struct {
	field string
	value *time.Duration
	usual time.Duration
}

// spans lists the times of a Config.
func (c *Config) spans() []span {
	return []span{
		{"HandshakeTimeout", &c.HandshakeTimeout, 5 * time.Second}, {"SilenceTimeout", &c.SilenceTimeout, 10 * time.Second},
		{"KeepAlive", &c.KeepAlive, time.Second}, {"Pulse", &c.Pulse, 250 * time.Millisecond}, {"Keep", &c.Keep, 0},
		{"DeferredTime", &c.DeferredTime, 2 * time.Second}, {"ReliableStall", &c.ReliableStall, 5 * time.Second},
		{"FlushTimeout", &c.FlushTimeout, time.Second}, {"LeaveTimeout", &c.LeaveTimeout, 2 * time.Second},
	}
}

// withDefaults returns the configuration with defaults for zero fields.
func (c Config) withDefaults() Config {
	c.TickRate, c.Clients, c.FirstTick = cmp.Or(c.TickRate, 30), cmp.Or(c.Clients, 64), cmp.Or(c.FirstTick, 1)
	for _, n := range c.numbers() {
		*n.value = cmp.Or(*n.value, n.usual)
	}
	for _, t := range c.spans() {
		*t.value = min(cmp.Or(*t.value, t.usual), math.MaxInt64/2) // Its end does not overflow.
	}
	if c.Random == nil {
		c.Random = rand.Reader
	}
	return c
}

// check returns an error for the first field that is out of range.
func (c Config) check() error {
	first := []number{{"TickRate", &c.TickRate, 0, 1, wire.MaxTickRate}, {"Clients", &c.Clients, 0, 1, wire.MaxClients}}
	for _, n := range append(first, c.numbers()...) {
		if *n.value < n.min || *n.value > n.max {
			return fmt.Errorf("netcode: Config.%s is %d: it must be %d to %d", n.field, *n.value, n.min, n.max)
		}
	}
	for _, t := range c.spans() {
		if *t.value < 0 {
			return fmt.Errorf("netcode: Config.%s is %v: it must be positive", t.field, *t.value)
		}
	}
	if c.FirstTick < 1 || c.FirstTick > maxFirstTick {
		return fmt.Errorf("netcode: Config.FirstTick is %d: it must be 1 to %d", c.FirstTick, maxFirstTick)
	}
	if c.KeepClosed && c.Keep == 0 {
		return errors.New("netcode: Config.KeepClosed keeps nobody without Keep, the time for which a player may come back")
	}
	if c.KeepAlive > c.SilenceTimeout/2 {
		return fmt.Errorf("netcode: Config.KeepAlive is %v: it must be at most half of SilenceTimeout, which is %v, "+
			"or a quiet connection would end", c.KeepAlive, c.SilenceTimeout)
	}
	return nil
}

// interval returns the time between two network ticks.
func (c Config) interval() time.Duration { return time.Second / time.Duration(c.TickRate) }

// snapshot returns the configuration of package snapshot.
func (c Config) snapshot() snapshot.Config {
	return snapshot.Config{
		Window: tick.Tick(c.Window), Entities: c.Entities, MaxEntities: c.MaxEntities, SentPackets: c.SentPackets, Payload: peer.MaxPayload(c.PacketSize), HistoryBytes: c.HistoryBytes,
	}
}

// queueSenderBytes bounds the bytes of unreliable messages that are taken from one sender in a frame.
const queueSenderBytes = 256 << 10

// queues returns the bounds of received messages, for a number of other ends. The bytes of a frame are what the quotas and the
// credit of all clients allow.
func (c Config) queues(others int) message.Limits {
	return message.Limits{
		PerStage: max(32768, 512*c.Clients), Bytes: min(max(16<<20, (c.Clients+1)*(queueSenderBytes*3/2+peer.InitialCredit)), 1<<30), Sources: others + 1,
		PerSender: c.QueuePerSender, SenderBytes: queueSenderBytes,
		Deferred: c.Deferred, DeferredTime: c.DeferredTime, EntityTime: c.SilenceTimeout,
	}
}

// outgoing returns the bounds of messages that wait to be sent to one peer.
func (c Config) outgoing() peer.OutgoingConfig {
	return peer.OutgoingConfig{
		PacketSize: c.PacketSize, PieceSize: peer.BasePacketSize, UnreliableBytes: c.OutboxBytes, ReliableBytes: c.ReliableBytes, SentPackets: c.SentPackets,
	}
}

// conn returns the configuration of a connection. out and in are the checksums of the two directions.
func (c Config) conn(out, in wire.Checksum) peer.ConnConfig {
	return peer.ConnConfig{
		SentPackets: c.SentPackets, Check: out, CheckIncoming: in, PacketSize: c.PacketSize, BaseSize: peer.BasePacketSize, TickInterval: c.interval(), Bound: link.Bound(c.SendBudget),
	}
}

// door returns the configuration of the handshake.
func (c Config) door(p *Protocol) handshake.Config {
	return handshake.Config{
		Limits: admission.Limits{
			ClientsPerAddress: c.ClientsPerAddress, ClientsPerNetwork: c.ClientsPerNetwork,
			HandshakesPerAddress: c.HandshakesPerAddress, HandshakesPerNetwork: c.HandshakesPerNetwork,
		},
		Accept:  peer.Accept{Rate: uint16(c.TickRate), Window: uint16(c.Window), PacketSize: uint16(c.PacketSize)},
		Clients: c.Clients, Timeout: c.HandshakeTimeout, Keep: c.Keep, KeepClosed: c.KeepClosed, RefuseSecond: c.RefuseSecond, ResetKey: c.ResetKey, Random: c.Random,
		Known: p.types.Knows(), Canon: &p.types.Canon, Plain: p.types.PlainCanon(),
	}
}

// end returns the configuration of the message part, for a number of other ends.
func (c Config) end(others int) endpoint.Config {
	return endpoint.Config{
		Link: link.Config{
			PacketSize: c.PacketSize, SendBudget: c.SendBudget, TickInterval: c.interval(), Outgoing: c.outgoing(), FloodFrames: c.FloodFrames,
			ReliableStall: c.ReliableStall, FlushTimeout: c.FlushTimeout, LeaveTimeout: c.LeaveTimeout,
		},
		Held: held.Limits{Unreliable: c.OutboxBytes, Reliable: c.ReliableBytes}, Queues: c.queues(others), History: c.History, Calls: c.Calls,
	}
}

// random32 returns a random number that is not zero.
func random32(random io.Reader) (uint32, error) {
	for {
		n, err := handshake.Random(random)
		if err != nil || uint32(n) != 0 {
			return uint32(n), err
		}
	}
}
