package nats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/fleet/nats/resume"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Checkpoint is a saved match.
type Checkpoint struct {
	Tick  netcode.Tick // The match goes on with the next one: Config.FirstTick.
	Rate  int          // Ticks a second.
	Extra []byte       // The result of MatchConfig.Extra.

	players []former
	saved   []byte // By record.Save.
}

// former is a player of a checkpoint.
type former struct {
	client netcode.ClientID
	user   string
	owns   []netcode.NetworkID
}

// ErrCheckpoint is the error of bytes that are no checkpoint of this version.
var ErrCheckpoint = errors.New("nats: no checkpoint")

// errOlder means that a newer checkpoint was stored meanwhile.
var errOlder = errors.New("nats: a newer checkpoint is stored")

const checkpointMagic = "netcode match 1\r\n"

// encode returns the bytes of a checkpoint.
func (c *Checkpoint) encode() ([]byte, error) {
	size := len(checkpointMagic) + 6*wire.MaxVarint + len(c.Extra) + len(c.saved) + len(c.players)*(MaxName+2*wire.MaxVarint)
	w := wire.NewWriter(make([]byte, size))
	copy(w.Next(len(checkpointMagic)), checkpointMagic)
	w.Varint(uint64(c.Tick))
	w.Varint(uint64(c.Rate))
	w.Count(len(c.players), wire.MaxClients*2)
	for _, p := range c.players {
		w.Varint(uint64(p.client))
		w.Bytes([]byte(p.user), MaxName)
	}
	w.Bytes(c.Extra, MaxExtra)
	copy(w.Next(len(c.saved)), c.saved)
	if w.Err() != nil {
		return nil, fmt.Errorf("nats: a checkpoint of %d players and %d bytes of Extra: %w", len(c.players), len(c.Extra), w.Err())
	}
	return w.Written(), nil
}

// decodeCheckpoint reads the bytes of a checkpoint, which may be anything. What record.Save wrote is read, and judged, by systems.Load.
func decodeCheckpoint(b []byte) (*Checkpoint, error) {
	rest, ok := bytes.CutPrefix(b, []byte(checkpointMagic))
	if !ok || len(b) > maxCheckpoint {
		return nil, ErrCheckpoint
	}
	r := wire.NewReader(rest)
	at, rate := r.Varint(), r.Varint()
	c := &Checkpoint{Tick: tick.Tick(at), Rate: int(min(rate, wire.MaxTickRate+1))}
	for range r.Count(wire.MaxClients*2, 2) {
		client, user := r.Varint(), string(r.Bytes(MaxName))
		if client == 0 || client > 1<<31 || user == "" {
			return nil, ErrCheckpoint
		}
		c.players = append(c.players, former{client: netcode.ClientID(client), user: user})
	}
	c.Extra = slices.Clone(r.Bytes(MaxExtra))
	c.saved = r.Rest()
	if r.Err() != nil || at == 0 || at >= maxTick || c.Rate < 1 || c.Rate > wire.MaxTickRate {
		return nil, ErrCheckpoint
	}
	return c, nil
}

// saver saves a match every so many ticks. The loop makes the bytes; a goroutine stores them, one checkpoint at a time.
type saver struct {
	match *Match
	next  netcode.Tick
	work  chan *Checkpoint // With room for one.
}

func newSaver(m *Match) *saver {
	s := &saver{match: m, work: make(chan *Checkpoint, 1)}
	m.work.Add(1)
	go func() {
		defer m.work.Done()
		s.run()
	}()
	return s
}

// frame saves if it is time to, at the end of a frame with a network tick.
func (s *saver) frame() {
	m := s.match
	now := m.server.Tick()
	if now < s.next {
		return
	}
	s.next = now + max(tick.Tick(m.config.Checkpoint/m.server.Interval()), 1)
	if err := s.save(now); err != nil {
		m.server.Report(err)
	}
}

// save makes a checkpoint, and passes it on if the one before has been stored.
func (s *saver) save(now netcode.Tick) error {
	m := s.match
	if len(s.work) == cap(s.work) {
		m.node.counters.skipped.Add(1)
		return nil
	}
	c, err := s.checkpoint(now)
	if err == nil {
		s.work <- c
	}
	return err
}

// checkpoint saves the newest capture.
func (s *saver) checkpoint(now netcode.Tick) (*Checkpoint, error) {
	m := s.match
	var saved bytes.Buffer
	if err := record.Save(m.server, &saved); err != nil {
		return nil, err
	}
	c := &Checkpoint{Tick: now, Rate: m.server.TickRate(), saved: saved.Bytes(), players: m.players()}
	if m.config.Extra != nil {
		c.Extra = slices.Clone(m.config.Extra())
	}
	return c, nil
}

// players returns the players for a checkpoint: those that are here or away, and those of the last checkpoint that have not come back.
func (m *Match) players() (list []former) {
	m.users.Lock()
	defer m.users.Unlock()
	for user, client := range m.users.clients {
		list = append(list, former{client: client, user: user})
	}
	for _, f := range m.users.former {
		list = append(list, former{client: f.client, user: f.user})
	}
	slices.SortFunc(list, func(a, b former) int { return int(a.client) - int(b.client) })
	return list[:min(len(list), wire.MaxClients*2)]
}

// storeMB is the time that the store has for each MB: without an answer for longer, the next checkpoint is tried.
const storeMB = 250 * time.Millisecond

// run stores the checkpoints.
func (s *saver) run() {
	for {
		select {
		case c := <-s.work:
			ctx, cancel := context.WithTimeout(s.match.alive, 2*time.Second+time.Duration(len(c.saved)>>20)*storeMB)
			if err := s.store(ctx, c); err != nil && s.match.alive.Err() == nil {
				s.match.node.counters.skipped.Add(1)
				s.match.node.config.OnError(fmt.Errorf("nats: match %s: a checkpoint: %w", s.match.config.ID, err))
			} else if err == nil {
				s.match.node.counters.saved.Add(1)
			}
			cancel()
		case <-s.match.stop:
			return
		}
	}
}

// store stores a checkpoint under a name of its own, and then names it in the match's key, which fails if the match is another process's by now:
// so the slow write of a process whose lease is over harms nothing.
func (s *saver) store(ctx context.Context, c *Checkpoint) error {
	m := s.match
	data, err := c.encode()
	if err != nil {
		return err
	}
	name := fmt.Sprintf("checkpoint.%s.%d.%d", m.config.ID, m.fence.Load(), c.Tick)
	if _, err := m.node.objects.PutBytes(ctx, name, data); err != nil {
		return err
	}
	m.key.Lock()
	e := m.key.entry
	old := e.Point
	if c.Tick > e.Saved {
		e.Point, e.Saved = name, c.Tick
		err = m.write(ctx, e)
	} else {
		err = errOlder // GiveAway was faster.
	}
	m.key.Unlock()
	if err != nil {
		old = name
	}
	if old != "" {
		err = errors.Join(err, ignore(m.node.objects.Delete(ctx, old), jetstream.ErrObjectNotFound))
	}
	return err
}

// ignore returns an error that is not one of a kind.
func ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}

// Orphan is a match whose process died. It belongs to this process, and nobody runs it yet.
type Orphan struct {
	ID   string // The match's.
	Data string // MatchConfig.Data.
	From string // The process that died.

	node     *Node
	entry    matchEntry
	revision uint64
}

// Node is that of this process.
func (o *Orphan) Node() *Node { return o.node }

// Load returns the newest checkpoint; nil if there is none. A server that goes on with it has Config.FirstTick = Checkpoint.Tick + 1.
func (o *Orphan) Load(ctx context.Context) (*Checkpoint, error) {
	if o.entry.Point == "" {
		return nil, nil
	}
	data, err := o.node.object(ctx, o.entry.Point, maxCheckpoint)
	if err != nil {
		return nil, err
	}
	return decodeCheckpoint(data)
}

// Open runs the match here, as Node.Open does with a new one.
func (o *Orphan) Open(config MatchConfig) (*Match, error) {
	config.ID, config.Data = o.ID, o.Data
	if config.Group == nil {
		return nil, fmt.Errorf("%w: match %q without a Group", ErrConfig, o.ID)
	}
	if c := config.Restore; c != nil {
		if _, err := record.ReadSaved(bytes.NewReader(c.saved), config.Group.Server.Protocol().Schema()); err != nil {
			return nil, err
		}
	}
	return o.node.begin(config, o.entry, o.revision)
}

// Refuse leaves the match to another process, as one that Node.TakeOver(false) did not stop in time.
func (o *Orphan) Refuse(ctx context.Context) error {
	e := o.entry
	e.Fence = 0 // Nobody's lease.
	_, err := o.node.kv.Update(ctx, matchKey(o.ID), encode(e), o.revision)
	return err
}

// Release gives the match up: it is over.
func (o *Orphan) Release(ctx context.Context) error {
	if err := o.node.remove(ctx, matchKey(o.ID), o.revision); err != nil || o.entry.Point == "" {
		return err
	}
	return o.node.objects.Delete(ctx, o.entry.Point)
}

// object reads an object of at most some bytes. A cluster that elects answers no question: each is asked again after a second, ten times.
func (n *Node) object(ctx context.Context, name string, most uint64) (data []byte, err error) {
	for range 10 {
		data, err = n.readObject(ctx, name, most)
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, natsgo.ErrTimeout) && !errors.Is(err, natsgo.ErrNoResponders) {
			return data, err
		}
	}
	return nil, err
}

// readObject is one attempt of object.
func (n *Node) readObject(ctx context.Context, name string, most uint64) ([]byte, error) {
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	info, err := n.objects.GetInfo(short, name)
	if err != nil {
		return nil, err
	}
	if info.Size > most {
		return nil, fmt.Errorf("nats: object %s has %d bytes, of at most %d", name, info.Size, most)
	}
	whole, stop := context.WithTimeout(ctx, time.Second+time.Duration(info.Size>>20)*storeMB)
	defer stop()
	return n.objects.GetBytes(whole, name)
}

// restore makes the entities of the checkpoint, in the first frame.
func (m *Match) restore(w *netecs.World) {
	c := m.config.Restore
	if c == nil {
		return
	}
	m.config.Restore = nil
	entities, err := systems.Load(m.config.Group, w, bytes.NewReader(c.saved))
	if err != nil {
		m.server.Report(fmt.Errorf("nats: match %s: %w", m.config.ID, err))
	} else {
		m.remember(c, entities)
		resume.From(m.server, c.Tick)
	}
	if m.config.Restored != nil {
		extend.Contain(extend.OfServer(m.server), "MatchConfig.Restored", func() { m.config.Restored(entities, err) })
	}
}

// remember notes who owned what. Ids of clients begin behind those of the checkpoint, so that nobody gets what was another one's.
func (m *Match) remember(c *Checkpoint, entities []netecs.Entity) {
	m.users.Lock()
	defer m.users.Unlock()
	last := netcode.ClientID(0)
	by := map[netcode.ClientID]*former{}
	for _, p := range c.players {
		f := &former{client: p.client, user: p.user}
		by[p.client], m.users.former[p.user] = f, f
		last = max(last, p.client)
	}
	for _, e := range entities {
		id, ok := m.config.Group.ID(e)
		if !ok {
			continue
		}
		owner := m.server.Owner(id)
		last = max(last, owner)
		if f := by[owner]; f != nil {
			f.owns = append(f.owns, id)
		}
	}
	extend.OfServer(m.server).ClientsFrom(last + 1)
}

// giveBack gives a player that came back after a crash its entities, under its new id.
func (m *Match) giveBack(user string, client netcode.ClientID) {
	m.users.Lock()
	f := m.users.former[user]
	delete(m.users.former, user)
	m.users.Unlock()
	if f == nil {
		return
	}
	kept := f.owns[:0]
	for _, id := range f.owns {
		e, alive := m.config.Group.Entity(id)
		if !alive || m.server.Owner(id) != f.client {
			continue
		}
		m.server.SetOwner(id, client)
		setOwner(m.world, e, components.Owner{Client: client})
		kept = append(kept, id)
	}
	m.carried[client] = kept
}

// Returned returns the entities that a player had before its process died, and has again: for Server.OnConnect, which makes an avatar for a player
// without one. Call Open before the game's OnConnect.
func (m *Match) Returned(client netcode.ClientID) []netcode.NetworkID { return m.carried[client] }

// Forget returns the entities of a player of the checkpoint that has not come back, for the game to remove, and gives the player none of them when it
// comes: after a while, or when Node.Player tells that it plays in another match.
func (m *Match) Forget(user string) (entities []netcode.NetworkID) {
	m.users.Lock()
	defer m.users.Unlock()
	if f := m.users.former[user]; f != nil {
		delete(m.users.former, user)
		return f.owns
	}
	return nil
}

// Missing returns the players of the checkpoint that have not come back.
func (m *Match) Missing() (users []string) {
	m.users.Lock()
	defer m.users.Unlock()
	for user := range m.users.former {
		users = append(users, user)
	}
	slices.SortFunc(users, strings.Compare)
	return users
}
