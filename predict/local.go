package predict

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Local components are not sent with the state. A client that cannot know them asks the server, once: when the prediction of an
// entity begins, after a hang, and when the entity was mispredicted. The answer is those of the server's last step, whole. They enter
// the history in that tick, and the ticks since are replayed.

const (
	// localEntities bounds the entities of one question.
	localEntities = 16
	// localBytes bounds the local components of an entity, on the wire.
	localBytes = 512
	// localQuestions bounds the questions that wait for an answer.
	localQuestions = 8
	// knownAtMost is the number of answers that wait for their tick at which a client asks no more.
	knownAtMost = 1024
)

var errNoLocals = errors.New("this end has no simulation that has taken a step")

// localRow is one local component.
type localRow struct {
	of    reflect.Type
	size  int // On the wire.
	text  string
	write func(w *wire.Writer, from []byte) // From memory.
	read  func(r *wire.Reader, to []byte)
}

// newLocalRow compiles a local component, and panics on one that is not plain data.
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

// askLocals asks for the local components of entities.
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

// localsAnswer has, for each entity of the question, a byte that is 1 where it is known, then a byte for each local component, that is 1
// where the entity has it, and those that it has.
type localsAnswer struct {
	Tick uint16 // The low bits of that of the server's last step.
	Data []byte
}

// Serialize implements wire.Serializable.
func (m *localsAnswer) Serialize(s *wire.Serializer) {
	s.Uint16(&m.Tick)
	s.Bytes(&m.Data, localEntities*(1+maxComponents+localBytes))
}

// handleLocals registers the question.
func handleLocals(p *netcode.Protocol) {
	netcode.Answer(p, answerLocals, netcode.Named("netcode.predict.locals"), netcode.NamedAnswer("netcode.predict.local"), netcode.OnChannel(wire.MaxChannels-1), netcode.FromClient())
}

// answerLocals answers a client, at the server. It tells nothing of entities that the client does not predict by Owner or Predicted.
func answerLocals(ctx *netcode.Context, q *askLocals, a *localsAnswer) error {
	server := netcode.ServerOf(ctx.End)
	if server == nil {
		return errNoLocals
	}
	at, ok := netcode.ExtensionOf[*simulated](server)
	if !ok || at.simulation == nil || at.simulation.step.Tick == tick.None {
		return errNoLocals
	}
	s, session := at.simulation.server, server.Session(ctx.Sender)
	a.Tick, a.Data = s.step.Tick.Low(), a.Data[:0]
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

// predictedBy tells if a client predicts an entity, not by its own choice.
func (s *server) predictedBy(e ecs.Entity, client netcode.ClientID) bool {
	w := s.step.World
	if !w.Alive(e) {
		return false
	}
	if w.Has(e, s.owner) && ownerAt(w, e, s.owner).Client == client {
		return true
	}
	return w.Has(e, s.predicted) && valueAt[components.Predicted](bytesOf(w, e, s.predicted, predictedSize)).By(client)
}

// appendLocals appends the local components of an entity.
func (s *server) appendLocals(to []byte, e ecs.Entity) []byte {
	var room [localBytes]byte
	for i := range s.all.local {
		l, id := &s.all.local[i], s.locals[i]
		if !s.step.World.Has(e, id) {
			to = append(to, 0)
			continue
		}
		w := wire.NewWriter(room[:])
		if l.size > 0 {
			l.write(&w, bytesOf(s.step.World, e, id, int(l.of.Size())))
		}
		to = append(append(to, 1), w.Written()...)
	}
	return to
}

// locals has the questions of a client about local components, and the answers.
type locals struct {
	wanted  []netcode.NetworkID // To be asked for.
	waiting int                 // Questions without an answer.
	known   []localState        // Answers that wait until their tick is simulated.
	taken   []localState        // Those of the last Window ticks: a replay of their tick ends with them.
	scratch []byte
	reader  wire.Reader // Scratch: a variable would be on the heap.
}

// localState is the local components of an entity in a tick.
type localState struct {
	id   netcode.NetworkID
	tick netcode.Tick
	data []byte // As in localsAnswer, behind the first byte.
}

// wantLocals has the next question ask for the local components of an entity, if the server answers for it.
func (c *client) wantLocals(n int) {
	if s := &c.slots[n]; len(c.all.local) > 0 && !s.id.IsZero() && c.given(s.id) && !slices.Contains(c.locals.wanted, s.id) {
		c.slots[n].asked = c.now
		c.locals.wanted = append(c.locals.wanted, s.id)
	}
}

// mayAsk reports whether there is a question to send, and room for its answer.
func (l *locals) mayAsk() bool {
	return len(l.wanted) > 0 && l.waiting < localQuestions && len(l.known) < knownAtMost
}

// askForLocals sends questions.
func (c *client) askForLocals() {
	l := &c.locals
	for l.mayAsk() {
		q := askLocals{Entities: slices.Clone(l.wanted[:min(len(l.wanted), localEntities)])}
		of := c.replica
		err := netcode.Call(context.Background(), c.end, 0, &q, func(a *localsAnswer, err error) {
			if c.replica != of {
				return // Of an earlier connection.
			}
			if l.waiting--; err == nil {
				c.hearLocals(q.Entities, a)
			}
		})
		if err != nil {
			return // In a later frame.
		}
		l.waiting++
		l.wanted = slices.Delete(l.wanted, 0, len(q.Entities))
	}
}

// hearLocals notes an answer. It drops one that is not legal: these are the server's own bytes, and nothing hangs on them.
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
		size, ok := c.all.localsIn(data)
		if !ok {
			return
		}
		c.locals.known = append(c.locals.known, localState{id: id, tick: tick.Near(a.Tick, c.now), data: bytes.Clone(data[:size])})
		data = data[size:]
	}
}

// localsIn returns the bytes of the local components of an entity. It is false where they are not legal.
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

// takeLocals makes the history that of the answers, and returns the tick to go back to, None if they say nothing new.
func (c *client) takeLocals() (back netcode.Tick) {
	kept := c.locals.known[:0]
	for _, l := range c.locals.known {
		n := c.slotOf(l.id)
		switch {
		case n < 0:
		case l.tick >= c.now+Window:
			c.wantLocals(n) // Of a tick that no server's step is at.
		case l.tick > c.now:
			kept = append(kept, l)
		case !c.history.holds(l.tick) || !c.marks[n].begun:
			c.wantLocals(n) // It came too late, or is of a tick before the prediction began.
		case c.history.mask(l.tick, n)&alive != 0:
			c.locals.taken = append(c.locals.taken, l)
			if !c.takeLocal(n, &l) {
				continue
			}
			c.stats.Resynced++
			if back == tick.None || l.tick < back {
				back = l.tick
			}
		}
	}
	clear(c.locals.known[len(kept):])
	c.locals.known = kept
	return back
}

// retakeLocals makes the history, and the world, of a tick that was replayed that of the answers.
func (c *client) retakeLocals(t netcode.Tick) {
	kept := c.locals.taken[:0]
	for _, l := range c.locals.taken {
		if !c.history.holds(l.tick) && l.tick < c.now {
			continue
		}
		kept = append(kept, l)
		if n := c.slotOf(l.id); l.tick == t && n >= 0 && c.history.mask(t, n)&alive != 0 && c.takeLocal(n, &l) {
			c.history.restore(&c.structure, c.step.World, c.slots[n].entity, c.tagged, t, n)
		}
	}
	clear(c.locals.taken[len(kept):])
	c.locals.taken = kept
}

// takeLocal makes the history of an entity that of an answer, and reports whether that is a change.
func (c *client) takeLocal(n int, l *localState) (changed bool) {
	mask, first := c.history.mask(l.tick, n), len(c.all.rows)
	defer func() { c.history.setMask(l.tick, n, mask) }()
	data := l.data
	for i := range c.all.local {
		row, bit := &c.all.local[i], uint64(1)<<(first+i)
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
