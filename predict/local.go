package predict

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// A client requests local components from the server: when the prediction of an entity begins, after a hang, and when the
// entity was mispredicted. The answer has all local components of the server's last step. They enter the history in the
// tick of that step, and the later ticks are replayed.

const (
	// localEntities bounds the entities of one question.
	localEntities = 16
	// localBytes bounds the encoded local components of an entity.
	localBytes = 512
	// localQuestions bounds the questions that wait for an answer.
	localQuestions = 8
	// knownAtMost is the number of stored answers at which a client stops asking.
	knownAtMost = 1024
)

var errNoLocals = errors.New("this end has no simulation that has taken a step")

// localRow is one local component.
type localRow struct {
	of    reflect.Type
	size  int // Encoded, in bytes.
	text  string
	write func(w *wire.Writer, from []byte) // from is the memory of the component.
	read  func(r *wire.Reader, to []byte)
}

// newLocalRow compiles the codec of a local component. It panics on a type that is not plain data.
func newLocalRow[T any]() localRow {
	t := reflect.TypeFor[T]()
	codec, err := wire.NewValue[T]()
	if err != nil {
		panic(fmt.Sprintf("netcode: predict.Local[%s]: %v", t, err))
	}
	return localRow{
		of: t, size: codec.Size(), text: string(codec.Describe(nil)),
		write: func(w *wire.Writer, from []byte) { wire.WriteValue(w, codec, valueAt[T](from)) },
		read:  func(r *wire.Reader, to []byte) { wire.ReadValue(r, codec, valueAt[T](to)) },
	}
}

// askLocals requests the local components of entities.
type askLocals struct {
	Entities []netcode.NetworkID
}

// Serialize implements wire.Serializable.
func (m *askLocals) Serialize(s *wire.Serializer) {
	n := len(m.Entities)
	s.Count(&n, localEntities, 8)
	if s.IsReading() {
		m.Entities = slices.Grow(m.Entities[:0], n)[:n]
	}
	for i := range m.Entities {
		s.Uint32(&m.Entities[i].Index)
		s.Uint32(&m.Entities[i].Generation)
	}
}

// localsAnswer has the local components of each entity of the question, in its order:
//
//   - a byte, 1 if the server answers for the entity
//   - for each local component, a byte, 1 if the entity has it
//   - behind each such 1, the encoded component
type localsAnswer struct {
	Tick uint16 // The low bits of the tick of the server's last step.
	Data []byte
}

// Serialize implements wire.Serializable.
func (m *localsAnswer) Serialize(s *wire.Serializer) {
	s.Uint16(&m.Tick)
	s.Bytes(&m.Data, localEntities*(1+maxComponents+localBytes))
}

// handleLocals registers the question and its answer.
func handleLocals(p *netcode.Protocol) {
	netcode.Answer(p, answerLocals, netcode.Named("netcode.predict.locals"), netcode.NamedAnswer("netcode.predict.local"), netcode.OnChannel(wire.MaxChannels-1), netcode.FromClient())
}

// answerLocals answers a client, at the server. It answers only for visible entities that the client predicts by Owner or
// Predicted.
func answerLocals(ctx *netcode.Context, q *askLocals, a *localsAnswer) error {
	server := netcode.ServerOf(ctx.End)
	if server == nil {
		return errNoLocals
	}
	at, ok := extend.ExtensionOf[*endState](server)
	if !ok || at.simulation == nil || at.simulation.step.Tick == tick.None {
		return errNoLocals
	}
	s, session := at.simulation.server, extend.OfServer(server).Session(ctx.Sender)
	a.Tick, a.Data = s.sim.step.Tick.Low(), a.Data[:0]
	for _, id := range q.Entities {
		e, there := s.find(id)
		if there && session != nil && session.View().Visible(id) && s.predictedBy(e, ctx.Sender) {
			a.Data = s.appendLocals(append(a.Data, 1), e)
		} else {
			a.Data = append(a.Data, 0)
		}
	}
	return nil
}

// predictedBy reports whether Owner or Predicted make a client predict an entity. Choices of the client do not count.
func (s *server) predictedBy(e netecs.Entity, client netcode.ClientID) bool {
	w := s.sim.step.World
	if !w.Alive(e) {
		return false
	}
	if world.Has(w, e, s.sim.ownerID) && ownerAt(w, e, s.sim.ownerID).Client == client {
		return true
	}
	return world.Has(w, e, s.predictedID) && valueAt[components.Predicted](bytesOf(w, e, s.predictedID, predictedSize)).By(client)
}

// appendLocals appends the encoded local components of an entity.
func (s *server) appendLocals(to []byte, e netecs.Entity) []byte {
	var room [localBytes]byte
	for i := range s.sim.all.local {
		l, id := &s.sim.all.local[i], s.locals[i]
		if !world.Has(s.sim.step.World, e, id) {
			to = append(to, 0)
			continue
		}
		w := wire.NewWriter(room[:])
		if l.size > 0 {
			l.write(&w, bytesOf(s.sim.step.World, e, id, int(l.of.Size())))
		}
		to = append(append(to, 1), w.Written()...)
	}
	return to
}

// locals has a client's questions about local components, and the answers.
type locals struct {
	wanted  []netcode.NetworkID // Entities for the next questions.
	waiting int                 // Questions without an answer.
	known   []localState        // Answers for ticks that are not simulated yet.
	taken   []localState        // Applied answers of the last Window ticks: a replay of their tick applies them again.
	scratch []byte
	reader  wire.Reader // Scratch: a variable would be on the heap.
}

// localState has the local components of an entity in a tick.
type localState struct {
	id   netcode.NetworkID
	tick netcode.Tick
	data []byte // As in localsAnswer, behind the first byte.
}

// wantLocals adds an entity to the next question, if the server answers for it.
func (c *client) wantLocals(n int) {
	if s := &c.slots[n]; len(c.sim.all.local) > 0 && !s.id.IsZero() && c.given(s.id) && !slices.Contains(c.locals.wanted, s.id) {
		c.slots[n].asked = c.now
		c.locals.wanted = append(c.locals.wanted, s.id)
	}
}

// mayAsk reports whether a question is due and there is room for its answer.
func (l *locals) mayAsk() bool {
	return len(l.wanted) > 0 && l.waiting < localQuestions && len(l.known) < knownAtMost
}

// askForLocals sends the questions.
func (c *client) askForLocals() {
	l := &c.locals
	for l.mayAsk() {
		q := askLocals{Entities: slices.Clone(l.wanted[:min(len(l.wanted), localEntities)])}
		of := c.replica
		err := netcode.Call(context.Background(), c.end, 0, &q, func(a *localsAnswer, err error) {
			if c.replica != of {
				return // The question belongs to an earlier connection.
			}
			if l.waiting--; err == nil {
				c.hearLocals(q.Entities, a)
			}
		})
		if err != nil {
			return // It is tried again in a later frame.
		}
		l.waiting++
		l.wanted = slices.Delete(l.wanted, 0, len(q.Entities))
	}
}

// hearLocals stores an answer. It drops the rest of an answer from the first illegal byte on.
func (c *client) hearLocals(asked []netcode.NetworkID, a *localsAnswer) {
	data := a.Data
	for _, id := range asked {
		if len(data) == 0 || data[0] > 1 {
			return
		}
		known := data[0] == 1
		data = data[1:]
		if !known {
			continue
		}
		size, ok := c.sim.all.localsIn(data)
		if !ok {
			return
		}
		c.locals.known = append(c.locals.known, localState{id: id, tick: tick.Near(a.Tick, c.now), data: bytes.Clone(data[:size])})
		data = data[size:]
	}
}

// localsIn returns the number of bytes of an entity's local components. ok is false for illegal data.
func (a *predictions) localsIn(data []byte) (size int, ok bool) {
	for i := range a.local {
		if len(data) <= size || data[size] > 1 {
			return 0, false
		}
		if size++; data[size-1] == 1 {
			size += a.local[i].size
		}
	}
	return size, size <= len(data)
}

// takeLocals writes the answers into the history. It returns the tick to roll back to, None if no value changed.
func (c *client) takeLocals() (back netcode.Tick) {
	kept := c.locals.known[:0]
	for _, l := range c.locals.known {
		n := c.slotOf(l.id)
		switch {
		case n < 0:
		case l.tick >= c.now+Window:
			c.wantLocals(n) // The tick is too far ahead for a step of the server.
		case l.tick > c.now:
			kept = append(kept, l)
		case !c.history.holds(l.tick) || !c.progress[n].begun:
			c.wantLocals(n) // The answer came too late, or its tick is before the prediction began.
		case c.history.mask(l.tick, n)&alive != 0:
			c.locals.taken = append(c.locals.taken, l)
			if !c.takeLocal(n, &l) {
				continue
			}
			c.sim.stats.Resynced++
			back = earliest(back, l.tick)
		}
	}
	clear(c.locals.known[len(kept):])
	c.locals.known = kept
	return back
}

// retakeLocals applies the answers of a replayed tick again, to the history and the world.
func (c *client) retakeLocals(t netcode.Tick) {
	kept := c.locals.taken[:0]
	for _, l := range c.locals.taken {
		if !c.history.holds(l.tick) && l.tick < c.now {
			continue
		}
		kept = append(kept, l)
		if n := c.slotOf(l.id); l.tick == t && n >= 0 && c.history.mask(t, n)&alive != 0 && c.takeLocal(n, &l) {
			c.history.restore(&c.structure, c.sim.step.World, c.slots[n].entity, c.sim.simulateID, t, n)
		}
	}
	clear(c.locals.taken[len(kept):])
	c.locals.taken = kept
}

// takeLocal writes an answer into the history of an entity. It reports whether a value changed.
func (c *client) takeLocal(n int, l *localState) (changed bool) {
	mask, first := c.history.mask(l.tick, n), len(c.sim.all.rows)
	defer func() { c.history.setMask(l.tick, n, mask) }()
	data := l.data
	for i := range c.sim.all.local {
		row, bit := &c.sim.all.local[i], uint64(1)<<(first+i)
		has := data[0] == 1
		data = data[1:]
		if !has {
			changed = changed || mask&bit != 0
			mask &^= bit
			continue
		}
		to := c.history.bytes(l.tick, n, first+i)
		if mask&bit == 0 {
			clear(to)
			changed = true
		}
		mask |= bit
		if row.size > 0 {
			c.locals.scratch = append(c.locals.scratch[:0], to...)
			c.locals.reader = wire.NewReader(data[:row.size])
			row.read(&c.locals.reader, to)
			changed = changed || !bytes.Equal(to, c.locals.scratch)
			data = data[row.size:]
		}
	}
	return changed
}
