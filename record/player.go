package record

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sort"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Limits of a Player's speed.
const (
	MinSpeed = 0.1
	MaxSpeed = 16

	// FirstSpectator is the id of the first spectator.
	FirstSpectator netcode.ClientID = 1_000_000_001

	ticksUnit = 1 << 16 // parts of a tick in Player.step and Player.part
)

// Errors of playing.
var (
	// ErrSpeed means that a speed is outside MinSpeed..MaxSpeed.
	ErrSpeed = fmt.Errorf("record: a speed is from %g to %d", MinSpeed, MaxSpeed)
	// ErrPlaying means that the server already plays a recording: use a new server for each.
	ErrPlaying = errors.New("record: the server plays a recording already: make another server for this one")
	// ErrClients means that the server has clients already: their ids may be those of recorded players.
	ErrClients = errors.New("record: the server has clients already: call Play on a new server, before its first client connects")
	// ErrNothingRecorded means that a recording, or the requested part of it, has no valid chunk.
	ErrNothingRecorded = errors.New("record: no tick that can be read")
)

// Player plays a recording: a server's entities are those of the recording as of a tick, which advances with the
// server's network ticks. Spectators are ordinary clients of this server, with its interest, its rates and its late
// join. A Player belongs to the server's goroutine.
type Player struct {
	file   io.ReadSeeker
	reader *Reader
	index  []chunkPlace
	mirror

	chunk  int // index of the reader's chunk; -1 for none
	at     tick.Tick
	part   int64 // elapsed part of the next tick, in ticksUnit
	step   int64 // recorded ticks per network tick, in ticksUnit
	paused bool
	failed bool // the file cannot be read any more

	touched []uint32 // recorded indexes that are to be copied
	crowded bool     // some entities found no room; reported once

	features []*extend.ServerRecord

	types []wire.MessageType // by recorded number; 0: the protocol lacks it
	said  []said
	heard tick.Tick // newest tick whose messages were sent

	recorded recorded
	follows  map[netcode.ClientID]netcode.ClientID
}

// chunkPlace is an entry of the index: the ticks of a chunk, and its offset in the file.
type chunkPlace struct {
	first, last tick.Tick
	offset      int64
}

// Play makes a server play a recording from its first tick on, at the recorded speed. The server's protocol must have
// each recorded component unchanged; it may have others. The server's own entities stay. Play reads
// the whole file once and checks its sums. Each network tick reads up to MaxSpeed recorded ticks, and a seek reads one
// chunk (a second). Damage in the file is skipped, and reported to OnError.
//
// Entities have no owner: a spectator owns nothing and writes nothing. The ids of spectators start at FirstSpectator,
// so that components.Owner never names a spectator. The errors are ErrNothingRecorded, ErrProtocol, ErrPlaying,
// ErrClients, and those of NewReader and of the file.
func Play(s *netcode.Server, file io.ReadSeeker) (*Player, error) {
	if _, ok := extend.ExtensionOf[*Player](s); ok {
		return nil, ErrPlaying
	}
	for range s.Clients {
		return nil, ErrClients
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	schema := s.Protocol().Schema()
	r, err := NewReader(file, plansOf(schema)...)
	if err != nil {
		return nil, err
	}
	p := &Player{file: file, reader: r, chunk: -1, follows: map[netcode.ClientID]netcode.ClientID{}}
	rows, err := r.header.rowsIn(schema)
	if err != nil {
		return nil, err
	}
	p.mirror = newMirror(s, r.plans, rows)
	if p.index, err = r.places(s.Report); err != nil {
		return nil, err
	}
	if len(p.index) == 0 {
		return nil, ErrNothingRecorded
	}
	p.at, p.heard, p.types = p.First(), p.First()-1, r.header.messageTypes(s.Protocol())
	p.features = r.header.featuresOf(s)
	_ = p.SetSpeed(1)
	extend.OfServer(s).ClientsFrom(FirstSpectator)
	extend.OfServer(s).Extend(extend.ServerHooks{State: p, BeginFrame: p.frame})
	return p, nil
}

// places reads all remaining chunks and returns their positions. tell is called with damage.
func (r *Reader) places(tell func(error)) (index []chunkPlace, err error) {
	for {
		h, _, err := r.chunk()
		switch {
		case errors.Is(err, ErrDamaged):
			tell(err)
		case err == io.EOF || errors.Is(err, ErrCut):
			return index, nil
		case err != nil:
			return nil, err
		default:
			index = append(index, chunkPlace{h.first, h.last, r.in.offset})
			r.pass(&h)
		}
	}
}

// enter moves the reader to the chunk at a position in the file.
func (r *Reader) enter(file io.ReadSeeker, at chunkPlace) error {
	if _, err := file.Seek(at.offset, io.SeekStart); err != nil {
		return err
	}
	r.in = input{in: file, offset: at.offset}
	r.end, r.left, r.fresh = at.first-1, 0, false
	return nil
}

// coming returns the next tick of the present chunk, tick.None at its end.
func (r *Reader) coming() tick.Tick {
	if r.left == 0 {
		return tick.None
	}
	if r.fresh {
		return r.now
	}
	step, _, err := wire.ReadVarint(r.raw)
	if err != nil {
		return r.now + 1 // Next reports the fault
	}
	return r.now + tick.Tick(step)
}

// Header returns the header of the recording.
func (p *Player) Header() *Header { return p.reader.header }

// First returns the first tick of the recording.
func (p *Player) First() tick.Tick { return p.index[0].first }

// Last returns the last tick of the recording.
func (p *Player) Last() tick.Tick { return p.index[len(p.index)-1].last }

// Tick returns the recorded tick that is shown. In a gap of the recording the state is that of the previous recorded
// tick.
func (p *Player) Tick() tick.Tick { return p.at }

// Pause stops playback at the present tick, or resumes it.
func (p *Player) Pause(pause bool) { p.paused = pause }

// Paused reports whether playback is paused.
func (p *Player) Paused() bool { return p.paused }

// Ended reports whether the last tick is shown. The world stays as it is until Seek.
func (p *Player) Ended() bool { return p.at == p.Last() }

// SetSpeed sets the number of recorded seconds per second, MinSpeed to MaxSpeed; otherwise it returns ErrSpeed. The
// default is 1.
func (p *Player) SetSpeed(times float64) error {
	if !(times >= MinSpeed && times <= MaxSpeed) {
		return ErrSpeed
	}
	p.step = int64(math.Round(times * ticksUnit * float64(p.reader.header.TickRate) / float64(p.server.TickRate())))
	return nil
}

// Seek moves to a tick, forwards or backwards, in the next network tick of the server. A tick outside the recording is
// clamped. Pausing does not change. Entities that exist at both ticks remain the same for clients. Skipped messages are
// not sent.
func (p *Player) Seek(t tick.Tick) {
	p.at, p.part = min(max(t, p.First()), p.Last()), 0
	p.heard = p.at
}

// ID returns the server's entity for a recorded one, the zero id if it does not exist at this tick.
func (p *Player) ID(recorded netcode.NetworkID) netcode.NetworkID { return p.mirror.ID(recorded) }

// Recorded returns the recorded entity for an entity of the server, the zero id if there is none.
func (p *Player) Recorded(id netcode.NetworkID) netcode.NetworkID { return p.was[id] }

// frame updates the server's entities to the present tick, before the capture.
func (p *Player) frame() {
	if !p.server.TickDue() || p.failed {
		return
	}
	if !p.paused && p.chunk >= 0 {
		p.part += p.step * int64(p.server.Steps())
		p.at, p.part = min(p.at+tick.Tick(p.part/ticksUnit), p.Last()), p.part%ticksUnit
	}
	for {
		err := p.read()
		if err == nil {
			p.apply()
			for _, feature := range p.features {
				if feature.Apply != nil {
					feature.Apply(p.ID)
				}
			}
			p.say()
			return
		}
		p.server.Report(fmt.Errorf("netcode: playing tick %d: %w", p.at, err))
		if p.failed = !errors.Is(err, ErrDamaged) || len(p.index) == 1; p.failed {
			return
		}
		p.index = append(p.index[:p.chunk], p.index[p.chunk+1:]...) // valid checksum, but no Writer wrote the contents
		p.chunk = -1
		p.Seek(p.at)
	}
}

// read moves the reader to the newest tick not after the shown one, and collects the messages on the way.
func (p *Player) read() error {
	from, to := p.chunkOf(min(p.heard+1, p.at)), p.chunkOf(p.at)
	if p.chunk < from || p.chunk > to || p.reader.now > p.heard {
		if err := p.enter(from); err != nil {
			return err
		}
	}
	for p.chunk < to {
		if err := p.pass(); err != nil {
			return err
		}
		if err := p.enter(p.chunk + 1); err != nil {
			return err
		}
	}
	return p.pass()
}

// chunkOf returns the index of the chunk with the newest tick not after t.
func (p *Player) chunkOf(t tick.Tick) int {
	return max(sort.Search(len(p.index), func(i int) bool { return p.index[i].first > t })-1, 0)
}

// enter reads the first tick of a chunk.
func (p *Player) enter(chunk int) error {
	p.chunk = chunk
	if err := p.reader.enter(p.file, p.index[chunk]); err != nil {
		return err
	}
	p.reader.chunks = chunk // for the chunk number of a DamageError
	return p.next()
}

// pass reads the chunk's ticks up to the shown one.
func (p *Player) pass() error {
	for {
		if next := p.reader.coming(); next == tick.None || next > p.at {
			return nil
		}
		if err := p.next(); err != nil {
			return err
		}
	}
}

// next reads a tick with its notes.
func (p *Player) next() error {
	if _, err := p.reader.Next(); err != nil {
		return err
	}
	p.touched = p.changed(p.touched, p.reader)
	if !p.recorded.read(p.reader) || !p.hear() || !readFeatures(p.features, p.reader) {
		return p.reader.within(p.reader.now-1, "its notes are none")
	}
	return nil
}

// apply updates the server's entities to the reader's state.
func (p *Player) apply() {
	if p.copy(p.reader, p.touched) {
		p.touched = p.touched[:0]
	} else if !p.crowded { // the next tick has more room if entities ended in this one
		p.crowded = true
		p.server.Report(fmt.Errorf("netcode: playing tick %d: no room for an entity: a seek needs Config.MaxEntities for both ticks", p.at))
	}
}
