package record

import (
	"fmt"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
)

// Training counts what would have been sent of a moving world, to clients at several distances, and makes the tables
// that code it best.
type Training struct {
	Store   *snapshot.Store // to be filled between Begin and Commit, before each call of Send
	trainer *delta.Trainer
	clients []client

	plans    []*quantize.Plan
	counting *delta.Counting
	trips    []int
	counts   bool   // play has come to its first tick: what is sent counts
	before   uint64 // rows that clients had been sent by then
}

// trainWindow is W while training.
const trainWindow = 128

func trainConfig() snapshot.Config { return snapshot.Config{Window: trainWindow, SentPackets: 1 << 12} }

// NewTraining prepares to train for components. classes asks for the tables that do for any component of a kind alone;
// else those of each component's own are trained too; trips are the round trips to count for, in ticks from 1.
func NewTraining(plans []*quantize.Plan, classes bool, trips ...int) (*Training, error) {
	trainer := delta.NewTrainer()
	counting := delta.NewCounting(trainer, classes)
	t, err := NewTrainingWith(plans, counting, trips...)
	if err != nil {
		return nil, err
	}
	t.trainer, t.plans, t.counting, t.trips = trainer, plans, counting, trips
	t.Store.Watch(counting.Count)
	return t, nil
}

// NewTrainingWith is NewTraining with tables of the caller's: what is sent is counted where t.Store.Watch says.
func NewTrainingWith(plans []*quantize.Plan, source delta.TableSource, trips ...int) (*Training, error) {
	for _, p := range plans {
		if p.Debugging() {
			return nil, fmt.Errorf("record: %s has packing off, as Protocol.Debug has it, and rows of it use no tables: record the game without", p.Name())
		}
		if p.ExtrapolatedBy() != "" && !p.Extrapolates() {
			return nil, fmt.Errorf("%w: %s is extrapolated by %s: train it from the game, with NewTraining", delta.ErrExtrapolation, p.Name(), p.ExtrapolatedBy())
		}
	}
	t := &Training{}
	schema, err := format.NewSchemaWith(plans, source)
	if err != nil {
		return nil, err
	}
	t.Store = snapshot.NewStore(schema, trainConfig())
	for _, trip := range trips {
		if err := t.join(trip, false); err != nil {
			return nil, err
		}
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

// LeastCounted is the number of symbols that a table must have seen to be better than the shipped one.
const LeastCounted = 500

// Tables returns what was learned so far. Tables that have seen next to nothing are left out: the ones that ship take
// their place. So they do for what is more than a set can hold, which LeftOut names.
func (t *Training) Tables() (*delta.Tables, error) { return t.trainer.BuildKnown(LeastCounted) }

// LeftOut names the tables that Tables leaves out although they were learned, as a set of tables holds 8192 codes and a MiB of
// text: those of many fields, some 48. Those that would have been used most come first.
func (t *Training) LeftOut() []string { return t.trainer.LeftOut(LeastCounted) }
