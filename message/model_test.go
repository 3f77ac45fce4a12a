package message

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// posted is a message of the model: the pushed message, and what its handler must receive.
type posted struct {
	Message
	from   int // 0 is this end
	serial uint32
	text   int // length: sizes vary
	at     tick.Tick
	when   time.Duration
	aside  time.Duration // time of deferral
	packet int           // number of the packet, and of the message
	number int
}

func (p *posted) size() int { return 1 + p.text + 1 + 4 }

func (p *posted) note() note {
	return note{Text: strings.Repeat("x", p.text), Bits: []uint32{p.serial}}
}

// follow is the message that a handler pushes, if any.
func (p *posted) follow(at tick.Tick, when time.Duration) (posted, bool) {
	if p.serial%5 != 0 || p.serial >= 1_000_000 {
		return posted{}, false
	}
	next := posted{from: p.from, serial: p.serial + 1_000_000, text: int(p.serial % 11), at: at, when: when}
	next.Stage = tick.Stage(p.serial) % tick.NumStages
	return next, true
}

const modelSources = 4

// model is the simplest implementation of Inbound.
type model struct {
	limits   Limits
	tick     tick.Tick
	now      time.Duration
	exists   map[wire.NetworkID]Existence
	stages   [tick.NumStages][]posted
	deferred [modelSources][]posted
	listed   []int
	messages [modelSources]int
	bytes    [modelSources]int
	freed    [modelSources]int
	fault    [modelSources]error
	used     int // bytes of the frame
	held     [modelSources]int
	evicted  []posted // dropped with their source
	frame    int
	packet   [5]int // source, tick, time and frame of the newest packet, and its number
	pushed   int
	settled  map[int]bool      // dropped during a pass over the list
	newest   map[[2]int]posted // handled, by source and sequenced channel
	stats    Stats
	handled  []posted
}

func (m *model) begin(now time.Duration, t tick.Tick) {
	m.now, m.tick = now, t
	m.frame++
	m.messages, m.bytes, m.used = [modelSources]int{}, [modelSources]int{}, 0
	m.held = [modelSources]int{}
	for _, list := range m.stages {
		for _, p := range list {
			m.take(&p)
			m.stats.Carried++
			if !p.Channel.Delivery().Reliable() {
				m.messages[p.from]++
				m.bytes[p.from] += p.size()
			}
		}
	}
	var listed []int
	for _, s := range m.listed {
		for before := -1; before != len(m.deferred[s]); { // a drop may end the wait of the next one
			before = len(m.deferred[s])
			m.deferred[s] = slices.DeleteFunc(m.deferred[s], func(p posted) bool { return m.late(s, &p) })
		}
		if len(m.deferred[s]) > 0 {
			listed = append(listed, s)
		}
	}
	m.listed = listed
}

// late drops a message that has waited too long: an unreliable one, or one that waits only for its entity.
func (m *model) late(s int, p *posted) bool {
	if p.Channel.Delivery().Reliable() {
		if m.now-p.when <= m.limits.EntityTime || p.Entity.IsZero() || m.exists[p.Entity] == Exists || !m.turn(p) || p.NotBefore > m.tick {
			return false
		}
		m.stats.Undeliverable++
	} else if m.now-p.aside <= m.limits.DeferredTime {
		return false
	}
	m.stats.DeferredLate++
	m.freed[s] += p.Cost
	m.settled[p.number] = true
	return true
}

// turn reports whether all earlier messages of its ordered channel are done.
func (m *model) turn(p *posted) bool {
	before := func(q posted) bool {
		return q.from == p.from && q.Channel == p.Channel && q.number < p.number && !m.settled[q.number]
	}
	return p.Channel.Delivery() != wire.ReliableOrdered ||
		!slices.ContainsFunc(m.stages[:], func(q []posted) bool { return slices.ContainsFunc(q, before) }) &&
			!slices.ContainsFunc(m.deferred[p.from], before) && !slices.ContainsFunc(m.evicted, before)
}

// overtaken reports whether a newer message of its sequenced channel was handled.
func (m *model) overtaken(p *posted, aside bool) bool {
	newest, any := m.newest[[2]int{p.from, int(p.Channel)}]
	return any && p.Channel.Delivery() == wire.UnreliableSequenced &&
		(newest.packet > p.packet || aside && newest.number > p.number)
}

func (m *model) push(p posted) error {
	if packet := [5]int{p.from, int(p.at), int(p.when), m.frame, m.packet[4]}; packet != m.packet {
		m.packet = packet
		m.packet[4]++
	}
	m.pushed++
	p.packet, p.number = m.packet[4], m.pushed
	reliable := p.Channel.Delivery().Reliable()
	err := m.tryPush(p, reliable)
	if err != nil && reliable && m.fault[p.from] == nil {
		m.fault[p.from] = err
	}
	return err
}

func (m *model) tryPush(p posted, reliable bool) error {
	if !reliable {
		if m.messages[p.from] >= m.limits.PerSender {
			m.stats.PerSender++
			return ErrQuota
		}
		if m.bytes[p.from]+p.size() > m.limits.SenderBytes {
			m.stats.SenderBytes++
			return ErrQuota
		}
		m.messages[p.from]++
		m.bytes[p.from] += p.size()
	}
	if len(m.stages[p.Stage]) >= m.limits.PerStage && !m.makeRoom(&p, reliable) {
		m.stats.Full++
		return ErrFull
	}
	if !m.fits(&p) {
		m.stats.Bytes++
		return ErrFull
	}
	m.take(&p)
	m.stats.Queued++
	m.stages[p.Stage] = append(m.stages[p.Stage], p)
	return nil
}

// fits reports whether the frame has room for the message. Half of it is divided equally among the sources.
func (m *model) fits(p *posted) bool {
	share := m.limits.Bytes / 2 / m.limits.Sources
	beyond := 0
	for from, n := range m.held {
		if from == p.from {
			n += p.size()
		}
		beyond += max(n-share, 0)
	}
	return beyond+share*m.limits.Sources <= m.limits.Bytes && m.used+p.size() <= m.limits.Bytes
}

func (m *model) take(p *posted) {
	m.used += p.size()
	m.held[p.from] += p.size()
}

// makeRoom drops a message of the source with the most messages above an equal share, and reports whether it did.
func (m *model) makeRoom(p *posted, reliable bool) bool {
	var count, loose [modelSources]int
	for _, q := range m.stages[p.Stage] {
		count[q.from]++
		if !q.Channel.Delivery().Reliable() {
			loose[q.from]++
		}
	}
	present := 0
	for from, n := range count {
		if n > 0 || from == p.from {
			present++
		}
	}
	if m.fault[p.from] != nil {
		return false
	}
	share, victim := max(m.limits.PerStage/present, 1), -1
	for _, from := range []int{1, 2, 3, 0} { // this end has the highest number
		n := count[from]
		if loose[from] > 0 && n > share && (victim < 0 || n > count[victim]) {
			victim = from
		}
	}
	if victim >= 0 {
		m.dropOldest(victim, p.Stage)
		return true
	}
	for from := 1; from < modelSources; from++ {
		if n := count[from]; n > max(share, count[p.from]) && (reliable || count[p.from] < share) && (victim < 0 || n > count[victim]) {
			victim = from
		}
	}
	if victim > 0 {
		m.evict(victim)
		return true
	}
	if loose[p.from] > 0 {
		m.dropOldest(p.from, p.Stage)
		return true
	}
	return false
}

func (m *model) dropOldest(from int, stage tick.Stage) {
	i := slices.IndexFunc(m.stages[stage], func(q posted) bool { return q.from == from && !q.Channel.Delivery().Reliable() })
	m.stages[stage] = slices.Delete(m.stages[stage], i, i+1)
	m.stats.PerStage++
}

// evict closes a source.
func (m *model) evict(from int) {
	m.fault[from] = ErrFull
	before := m.waiting() + len(m.deferred[from])
	m.evicted = append(m.evicted, m.deferred[from]...)
	m.deferred[from] = nil
	for stage := range m.stages {
		m.stages[stage] = slices.DeleteFunc(m.stages[stage], func(q posted) bool {
			if q.from == from {
				m.evicted = append(m.evicted, q)
			}
			return q.from == from
		})
	}
	m.stats.Evicted += uint64(before - m.waiting())
}

func (m *model) verdict(p *posted, aside bool) Existence {
	answer := m.exists[p.Entity]
	switch {
	case !m.turn(p) || aside && p.NotBefore > m.tick:
		return NotYet
	case m.overtaken(p, aside):
		return stale
	case answer == Never:
		return Never
	case answer == NotYet || p.NotBefore > m.tick:
		return NotYet
	}
	return Exists
}

// drop drops a message by its verdict.
func (m *model) drop(p *posted, why Existence) {
	if why == stale {
		m.stats.Superseded++
	} else {
		m.stats.Undeliverable++
	}
	m.freed[p.from] += p.Cost
}

func (m *model) handle(p posted) {
	m.stats.Handled++
	m.freed[p.from] += p.Cost
	p.Cost = 0
	line := [2]int{p.from, int(p.Channel)}
	if p.number > m.newest[line].number {
		m.newest[line] = p
	}
	m.handled = append(m.handled, p)
	if next, ok := p.follow(m.tick, m.now); ok {
		_ = m.push(next)
	}
}

func (m *model) drain(stage tick.Stage) {
	due := map[uint32]bool{}
	for _, p := range m.stages[stage] {
		due[p.serial] = true
	}
	for _, s := range m.listed {
		for i := 0; i < len(m.deferred[s]); {
			p := m.deferred[s][i]
			verdict := NotYet
			if p.Stage == stage {
				verdict = m.verdict(&p, true)
			}
			if verdict == NotYet {
				i++
				continue
			}
			m.deferred[s] = slices.Delete(m.deferred[s], i, i+1)
			if verdict == Exists {
				m.handle(p)
				continue
			}
			m.drop(&p, verdict)
		}
	}
	m.drainQueue(stage, due)
	if m.waiting() == 0 {
		m.used, m.held = 0, [modelSources]int{}
	}
}

// drainQueue handles the messages queued before the Drain started.
func (m *model) drainQueue(stage tick.Stage, due map[uint32]bool) {
	for len(m.stages[stage]) > 0 && due[m.stages[stage][0].serial] {
		p := m.stages[stage][0]
		m.stages[stage] = m.stages[stage][1:]
		switch why := m.verdict(&p, false); why {
		case NotYet:
			m.deferMessage(p)
		case Exists:
			m.handle(p)
		default:
			m.drop(&p, why)
		}
	}
}

func (m *model) deferMessage(p posted) {
	count, bytes := 0, 0
	for _, q := range m.deferred[p.from] {
		if !q.Channel.Delivery().Reliable() {
			count++
			bytes += q.size()
		}
	}
	if !p.Channel.Delivery().Reliable() && (count >= m.limits.Deferred || bytes+p.size() > m.limits.DeferredBytes) {
		m.stats.DeferredFull++
		return
	}
	m.stats.Deferred++
	p.aside = m.now
	m.deferred[p.from] = append(m.deferred[p.from], p)
	if !slices.Contains(m.listed, p.from) {
		m.listed = append(m.listed, p.from)
	}
}

func (m *model) waiting() (n int) {
	for _, list := range m.stages {
		n += len(list)
	}
	return n
}

// twins is an Inbound and its model.
type twins struct {
	*rig
	model   model
	sources [modelSources]*Source
	got     []posted
	last    uint64 // frame of the newest From: a packet has several messages
}

func newTwins(t *rapid.T, outer testing.TB) *twins {
	limits := Limits{
		PerStage:      rapid.IntRange(1, 40).Draw(t, "per stage"),
		Bytes:         rapid.IntRange(100, 20_000).Draw(t, "bytes"),
		Sources:       rapid.IntRange(1, 8).Draw(t, "sources"),
		PerSender:     rapid.IntRange(1, 150).Draw(t, "per sender"),
		SenderBytes:   rapid.IntRange(1, 6000).Draw(t, "sender bytes"),
		Deferred:      rapid.IntRange(1, 10).Draw(t, "deferred"),
		DeferredBytes: rapid.IntRange(1, 300).Draw(t, "deferred bytes"),
		DeferredTime:  50 * time.Millisecond,
		EntityTime:    70 * time.Millisecond,
	}
	w := &twins{}
	w.model = model{limits: limits, exists: map[wire.NetworkID]Existence{},
		newest: map[[2]int]posted{}, settled: map[int]bool{}}
	w.rig = newRig(outer, Config{Limits: limits, Local: 50,
		Exists: func(id wire.NetworkID) Existence { return w.model.exists[id] }})
	w.model.begin(time.Second, 1)
	w.sources[0] = w.Local()
	for i := 1; i < modelSources; i++ {
		w.sources[i] = NewSource(wire.ClientID(i))
	}
	w.onNote = w.see
	return w
}

// see is the handler.
func (w *twins) see(ctx *Context, m *note) {
	from := int(ctx.Sender)
	if ctx.Loopback() {
		from = 0
	}
	p := posted{from: from, serial: m.Bits[0], text: len(m.Text), at: ctx.Tick, when: ctx.Received}
	p.Message = Message{NotBefore: ctx.NotBefore, Entity: ctx.Entity, Type: ctx.Type, Stage: ctx.Stage, Channel: ctx.Channel}
	w.got = append(w.got, p)
	if next, ok := p.follow(w.tick, w.now); ok {
		_ = w.give(next)
	}
}

// give pushes a message.
func (w *twins) give(p posted) error {
	of, c := TypeOf[note](&w.registry)
	p.Type = of.ID()
	m := p.note()
	room := make([]byte, 100)
	n, err := c.Encode(w.Scratch(), room, &m)
	if err != nil {
		return err
	}
	if o := (origin{source: w.sources[p.from], peer: w.sources[p.from].id, tick: p.at, received: p.when}); o != w.from || w.number != w.last {
		w.From(o.source, o.tick, o.received)
		w.last = w.number
	}
	return w.Push(&p.Message, room[:n])
}

func (w *twins) compare(t *rapid.T) {
	stats := w.Stats()
	stats.Grown = 0
	require.Equal(t, w.model.stats, stats)
	require.Len(t, w.got, len(w.model.handled))
	for i := range w.got {
		w.got[i].Type = 0
		w.model.handled[i].packet, w.model.handled[i].number, w.model.handled[i].aside = 0, 0, 0
		require.Equal(t, w.model.handled[i], w.got[i])
	}
	w.got, w.model.handled = w.got[:0], w.model.handled[:0]
	for stage := range tick.Stage(tick.NumStages) {
		require.Equal(t, len(w.model.stages[stage]), w.Waiting(stage))
		require.LessOrEqual(t, cap(w.cur.stages[stage].items), max(firstItems, 2*w.limits.PerStage), "memory is bounded")
	}
	require.LessOrEqual(t, cap(w.cur.bytes), w.limits.Bytes)
	for i, s := range w.sources {
		bytes := 0
		for _, p := range w.model.deferred[i] {
			bytes += p.size()
		}
		n, b := s.Deferred()
		require.Equal(t, [2]int{len(w.model.deferred[i]), bytes}, [2]int{n, b})
		require.Equal(t, w.model.freed[i], s.TakeFreed())
		require.Equal(t, w.model.fault[i], s.Fault())
		w.model.freed[i] = 0
	}
}

func TestInboundAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newTwins(rt, t)
		now, at, serial := time.Second, tick.Tick(1), uint32(0)
		channels := []wire.Channel{0, 0, 0, wire.NewChannel(wire.UnreliableSequenced, 1), wire.NewChannel(wire.Reliable, 0),
			wire.NewChannel(wire.ReliableOrdered, 0), wire.NewChannel(wire.ReliableOrdered, 1)}
		rt.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 25).Draw(t, "messages") {
					serial++
					p := posted{from: rapid.IntRange(0, modelSources-1).Draw(t, "from"), serial: serial,
						text: rapid.IntRange(0, 60).Draw(t, "text"), at: at, when: now}
					p.Stage = tick.Stage(rapid.IntRange(2, 5).Draw(t, "stage"))
					p.Channel = rapid.SampledFrom(channels).Draw(t, "channel")
					if p.Channel.Delivery().Reliable() {
						p.Cost = p.size() + 32
					}
					switch rapid.IntRange(0, 5).Draw(t, "when") {
					case 0:
						p.NotBefore = at + tick.Tick(rapid.IntRange(-1, 3).Draw(t, "ahead"))
					case 1:
						p.Entity = wire.NetworkID{Index: uint32(rapid.IntRange(1, 4).Draw(t, "entity")), Generation: 1}
					}
					require.Equal(t, w.model.push(p), w.give(p))
				}
			},
			"drain": func(t *rapid.T) {
				stage := tick.Stage(rapid.IntRange(2, 5).Draw(t, "stage"))
				before := w.model.stats.Handled
				w.model.drain(stage)
				require.Equal(t, int(w.model.stats.Handled-before), w.Drain(stage))
				require.Equal(t, stage, w.Stage())
			},
			"begin": func(t *rapid.T) {
				now += time.Duration(rapid.IntRange(0, 30).Draw(t, "ms")) * time.Millisecond
				at += tick.Tick(rapid.IntRange(0, 2).Draw(t, "ticks"))
				w.model.begin(now, at)
				w.Begin(now, at)
			},
			"entity": func(t *rapid.T) {
				id := wire.NetworkID{Index: uint32(rapid.IntRange(1, 4).Draw(t, "entity")), Generation: 1}
				w.model.exists[id] = Existence(rapid.IntRange(0, 2).Draw(t, "existence"))
			},
			"": w.compare,
		})
	})
}
