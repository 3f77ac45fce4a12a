package predict

import (
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"runtime"
	"strings"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

const (
	// explainSums bounds the hashes of one answer.
	explainSums = 256
	// explainAtMost bounds the questions that wait for the server's answer.
	explainAtMost = 16
)

// Outside is the value of Explanation.System if the step began with different states on both sides. Game code outside of
// the simulation changed the entity on one side.
const Outside = "outside of the simulation"

var errNoTrace = errors.New("no hashes of this entity and tick")

// Explanation names the system that made the first difference between the server's state and the predicted state.
type Explanation struct {
	Misprediction
	// First is the first tick in which both sides differ. It is not after Misprediction.Tick.
	First netcode.Tick
	// System is the first system after which the states differ: its number, from 0, and its Go type or function name. It
	// is Outside if they differed before the first system. It is empty if the server had no hashes of these ticks or the
	// hashes are equal.
	System string
}

// String implements fmt.Stringer.
func (e Explanation) String() string {
	if e.System == "" {
		return e.Misprediction.String() + "; no system is known to differ"
	}
	return fmt.Sprintf("%v; first in tick %d: %s", e.Misprediction, e.First, e.System)
}

// Explain enables Simulation.OnExplanation. Both sides store a hash of the predicted components of each entity after each
// system, for the last Window ticks. A client that mispredicted requests the server's hashes.
//
// Call it on both sides, during development only: it takes time and memory in each step. The server answers for entities
// that the client sees, but the hashes include components that the client may not see. Explain panics on a frozen
// protocol.
func Explain(p *netcode.Protocol) {
	extend.OfProtocol(p).MustBeOpen("predict.Explain", nil)
	all := of(p)
	if all.explain != nil {
		return
	}
	all.explain = (*client).explain
	extend.OfProtocol(p).Extend(extend.Extension{Name: "predict explain", Server: traceEnds{}, Client: traceEnds{}})
	netcode.Answer(p, answerTrace, netcode.Named("netcode.predict.ask"), netcode.NamedAnswer("netcode.predict.trace"), netcode.OnChannel(wire.MaxChannels-1), netcode.FromClient())
}

// traceEnds makes the hooks of both ends.
type traceEnds struct{}

// Server implements extend.ServerSide.
func (traceEnds) Server(extend.Server) extend.ServerHooks {
	return extend.ServerHooks{State: &traces{}}
}

// Client implements extend.ClientSide.
func (traceEnds) Client(extend.Client) extend.ClientHooks {
	return extend.ClientHooks{State: &traces{}}
}

// OnExplanation adds a function that is called on a client about a round trip after OnMisprediction. It gets the system
// that made the first difference. It is never called without Explain.
func (s *Simulation) OnExplanation(f func(Explanation)) { s.explained = append(s.explained, f) }

// askTrace requests the hashes of an entity in Count ticks from tick From on.
type askTrace struct {
	Entity wire.NetworkID
	From   uint32
	Count  uint8
}

// traceAnswer has the hashes by tick. Each tick has one hash before the first system and one after each system.
type traceAnswer struct {
	Each uint8 // Hashes of one tick, less 1. A tick without hashes has zeros.
	Sums [explainSums]uint32
}

// traces stores the hashes of an end.
type traces struct {
	each    int // Hashes of a tick: the number of systems plus 1.
	ticks   [Window]netcode.Tick
	sums    [Window]map[netcode.NetworkID][]uint32
	waiting int // Questions without an answer.
}

// begin removes the hashes of an earlier tick, or of an earlier run of the same tick.
func (t *traces) begin(at netcode.Tick) {
	n := at % Window
	t.ticks[n] = at
	if t.sums[n] == nil {
		t.sums[n] = map[netcode.NetworkID][]uint32{}
	}
	clear(t.sums[n])
}

// of returns the hashes of an entity in a tick, nil without any.
func (t *traces) of(id netcode.NetworkID, at netcode.Tick) []uint32 {
	if n := at % Window; at > tick.None && t.ticks[n] == at {
		return t.sums[n][id]
	}
	return nil
}

// trace stores the hash of each predicted entity. system is 0 before the first system, i+1 after system i.
func (s *Simulation) trace(at netcode.Tick, system int) {
	t := s.traces
	query := world.Select(s.step.World, world.All(s.simulateID, s.replicatedID))
	for query.Next() {
		id := (*components.Replicated)(query.Get(s.replicatedID)).ID
		if id.IsZero() {
			continue
		}
		sums := t.sums[at%Window][id]
		for len(sums) < system { // The entity did not exist after the earlier systems.
			sums = append(sums, 0)
		}
		t.sums[at%Window][id] = append(sums, s.hash(&query))
	}
}

// hash returns the FNV-1a hash of the quantised predicted components of an entity.
func (s *Simulation) hash(query *world.Query) uint32 {
	sum := uint32(2166136261)
	add := func(v uint32) {
		for range 4 {
			sum = (sum ^ v&0xFF) * 16777619
			v >>= 8
		}
	}
	for k, r := range s.all.rows {
		id := world.TypeID(s.step.World, r.of)
		if !query.Has(id) {
			continue
		}
		add(uint32(k) + 1)
		lanes := s.hashLanes[:r.plan.Lanes()]
		clear(lanes)
		r.plan.Quantise(query.Get(id), lanes)
		for _, v := range lanes {
			add(v)
		}
	}
	return sum
}

// learnTraces finds the hashes of this end, if Explain was called.
func (s *Simulation) learnTraces(end netcode.Endpoint) {
	t, ok := extend.ExtensionOf[*traces](end)
	if !ok {
		return
	}
	if t.each = len(s.systems) + 1; t.each > explainSums {
		panic(fmt.Sprintf("netcode: predict.Explain: a simulation has at most %d systems, not %d", explainSums-1, len(s.systems)))
	}
	most := 0
	for _, r := range s.all.rows {
		most = max(most, r.plan.Lanes())
	}
	s.traces, s.hashLanes = t, make([]uint32, most)
}

// answerTrace answers a client's question, at the server.
func answerTrace(ctx *netcode.Context, q *askTrace, a *traceAnswer) error {
	t, ok := extend.ExtensionOf[*traces](ctx.End)
	server := netcode.ServerOf(ctx.End)
	if !ok || server == nil || t.each == 0 {
		return errNoTrace
	}
	session := extend.OfServer(server).Session(ctx.Sender)
	if session == nil || !session.View().Visible(q.Entity) {
		return errNoTrace
	}
	a.Each = uint8(t.each - 1)
	for i := range min(int(q.Count), explainSums/t.each) {
		copy(a.Sums[i*t.each:(i+1)*t.each], t.of(q.Entity, netcode.Tick(q.From)+netcode.Tick(i)))
	}
	return nil
}

// explain asks the server about a misprediction. checked is the newest tick that was compared before and was equal.
func (c *client) explain(m Misprediction, checked netcode.Tick) {
	t := c.sim.traces
	if t == nil || len(c.sim.explained) == 0 || t.waiting == explainAtMost {
		return
	}
	from := max(checked+1, m.Tick-netcode.Tick(explainSums/t.each)+1, 1)
	mine := make([][]uint32, m.Tick-from+1)
	for i := range mine {
		mine[i] = append([]uint32(nil), t.of(m.ID, from+netcode.Tick(i))...)
	}
	q := askTrace{Entity: m.ID, From: uint32(from), Count: uint8(min(len(mine), 255))}
	err := netcode.Call(context.Background(), c.end, 0, &q, func(a *traceAnswer, err error) {
		t.waiting--
		e := Explanation{Misprediction: m}
		if err == nil && int(a.Each) == t.each-1 {
			e.First, e.System = c.firstSystem(from, mine, a)
		}
		for _, f := range c.sim.explained {
			extend.Contain(extend.OfClient(c.end), "OnExplanation", func() { f(e) })
		}
	})
	if err == nil {
		t.waiting++
	}
}

// firstSystem returns the tick and the system of the first difference.
func (c *client) firstSystem(from netcode.Tick, mine [][]uint32, a *traceAnswer) (netcode.Tick, string) {
	each := c.sim.traces.each
	for i, own := range mine {
		if (i+1)*each > explainSums {
			break
		}
		theirs := a.Sums[i*each : (i+1)*each]
		if len(own) == 0 || theirs[0] == 0 && theirs[each-1] == 0 {
			continue // One side has no hashes of this tick.
		}
		for system, sum := range theirs {
			own := append(own, make([]uint32, each-len(own))...) // The entity was despawned here: its hash is 0.
			switch {
			case sum == own[system]:
			case system == 0:
				return from + netcode.Tick(i), Outside
			default:
				return from + netcode.Tick(i), fmt.Sprintf("system %d, %s", system-1, systemName(c.sim.systems[system-1]))
			}
		}
	}
	return 0, ""
}

// systemName returns the type of a system, or the function of a Func, with the package. A function literal has the name of
// the enclosing function and a number.
func systemName(system System) string {
	if f, ok := system.(Func); ok {
		if known := runtime.FuncForPC(reflect.ValueOf(f).Pointer()); known != nil {
			return strings.TrimSuffix(path.Base(known.Name()), "-fm") // -fm ends the name of a method value.
		}
	}
	return fmt.Sprintf("%T", system)
}
