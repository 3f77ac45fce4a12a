package record

import (
	"fmt"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
)

// Training encodes a moving world for clients with several round trips, counts the symbols, and builds the tables with
// the shortest codes.
type Training struct {
	Store   *snapshot.Store // set rows between Begin and Commit, before each call of Send
	trainer *delta.Trainer
	clients []client

	plans    []*quantize.Plan
	counting *delta.Counting
	trips    []int
	counts   bool   // symbols count: playback has reached its first tick
	before   uint64 // rows sent to clients before that
}

// trainWindow is the history window W during training.
const trainWindow = 128

func trainConfig() snapshot.Config { return snapshot.Config{Window: trainWindow, SentPackets: 1 << 12} }

// NewTraining prepares to train for components. With classes it trains only the tables for all components of a kind;
// without, it also trains tables for each component. trips are the round trips to train for, in ticks from 1.
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

// NewTrainingWith is NewTraining with the caller's tables. The function of t.Store.Watch receives the symbols.
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

// Send encodes, for every client, the changes of the tick that was committed last.
func (t *Training) Send() error {
	for i := range t.clients {
		if err := t.clients[i].send(t.Store.Tick()); err != nil {
			return err
		}
	}
	return nil
}

// LeastCounted is the number of symbols that a table must have counted to be better than the shipped one.
const LeastCounted = 500

// Tables returns the tables trained so far. It leaves out tables with fewer than LeastCounted symbols, and tables
// beyond the limits of a set, see LeftOut. The shipped tables replace them.
func (t *Training) Tables() (*delta.Tables, error) { return t.trainer.BuildKnown(LeastCounted) }

// LeftOut names the trained tables that exceed the limits of a set (8192 codes, 1 MiB of text, some 48 tables of many
// fields), highest count first.
func (t *Training) LeftOut() []string { return t.trainer.LeftOut(LeastCounted) }
