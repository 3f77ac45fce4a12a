package record

import (
	"fmt"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Training counts what would have been sent of a moving world, to clients at several distances, and makes the tables
// that code it best.
type Training struct {
	Store   *snapshot.Store // to be filled between Begin and Commit, before each call of Send
	trainer *wire.Trainer
	clients []client
}

// client is one that acknowledges everything after a time.
type client struct {
	view    *snapshot.View
	delay   tick.Tick
	seq     uint64
	pending []sent
	buffer  []byte
}

type sent struct {
	seq  uint64
	tick tick.Tick
}

// trainWindow is W while training.
const trainWindow = 128

// NewTraining prepares to train for components. classes asks for the tables that do for any component of a kind alone;
// else those of each component's own are trained too; trips are the round trips to count for, in ticks from 1.
func NewTraining(plans []*wire.Plan, classes bool, trips ...int) (*Training, error) {
	trainer := wire.NewTrainer()
	counting := wire.NewCounting(trainer, classes)
	t, err := newTraining(plans, counting, trips...)
	if err != nil {
		return nil, err
	}
	t.trainer = trainer
	t.Store.Watch(counting.Count)
	return t, nil
}

// newTraining is NewTraining with tables of the caller's, and nobody watching.
func newTraining(plans []*wire.Plan, source wire.TableSource, trips ...int) (*Training, error) {
	for _, p := range plans {
		if p.PredictedBy() != "" && !p.Predicts() {
			return nil, fmt.Errorf("%w: %s is predicted by %s: train it from the game, with NewTraining", wire.ErrPrediction, p.Name(), p.PredictedBy())
		}
	}
	t := &Training{}
	schema, err := snapshot.NewSchemaWith(plans, source)
	if err != nil {
		return nil, err
	}
	config := snapshot.Config{Window: trainWindow, SentPackets: 1 << 12}
	t.Store = snapshot.NewStore(schema, config)
	for _, trip := range trips {
		if trip < 1 || trip >= trainWindow {
			return nil, fmt.Errorf("record: a round trip of %d ticks: it must be 1 to %d", trip, trainWindow-1)
		}
		t.clients = append(t.clients, client{
			view: snapshot.NewView(t.Store, config), delay: tick.Tick(trip), buffer: make([]byte, 1200),
		})
	}
	return t, nil
}

// Send writes for every client what it lacks of the tick that was committed last.
func (t *Training) Send() error {
	for i := range t.clients {
		if err := t.clients[i].send(t.Store.Tick()); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) send(now tick.Tick) error {
	for len(c.pending) > 0 && c.pending[0].tick+c.delay <= now {
		c.view.Acked(c.pending[0].seq)
		c.pending = c.pending[:copy(c.pending, c.pending[1:])]
	}
	c.view.Observe()
	c.view.Plan(-1)
	for c.view.Pending() {
		if c.view.Write(c.buffer, c.seq+1) == 0 {
			return fmt.Errorf("record: tick %d does not fit into packets", now)
		}
		c.seq++
		c.pending = append(c.pending, sent{c.seq, now})
	}
	return nil
}

// LeastCounted is how many symbols a table must have seen to be better than the one that ships.
const LeastCounted = 500

// Tables returns what was learned so far. Tables that have seen next to nothing are left out: the ones that ship take
// their place.
func (t *Training) Tables() (*wire.Tables, error) { return t.trainer.BuildKnown(LeastCounted) }
