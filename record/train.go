package record

import (
	"fmt"
	"io"
	"math"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
)

// Training encodes a moving world for clients with several round trips. The function of Store.Watch gets the symbols.
type Training struct {
	Store   *snapshot.Store // set rows between Begin and Commit, before each call of Send
	clients []client
}

// trainWindow is the history window W during training.
const trainWindow = 128

func trainConfig() snapshot.Config { return snapshot.Config{Window: trainWindow, SentPackets: 1 << 12} }

// NewTraining returns a Training of components that are encoded with the tables of source. trips are the clients' round
// trips, in ticks from 1.
func NewTraining(plans []*quantize.Plan, source delta.TableSource, trips ...int) (*Training, error) {
	for _, p := range plans {
		if p.Debugging() {
			return nil, fmt.Errorf("record: %s has packing off, as Protocol.Debug has it, and rows of it use no tables: record the game without", p.Name())
		}
		if p.ExtrapolatedBy() != "" && !p.Extrapolates() {
			return nil, fmt.Errorf("%w: %s is extrapolated by %s: train it from the game, with record.Train", delta.ErrExtrapolation, p.Name(), p.ExtrapolatedBy())
		}
	}
	schema, err := format.NewSchemaWith(plans, source)
	if err != nil {
		return nil, err
	}
	t := &Training{Store: snapshot.NewStore(schema, trainConfig())}
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

// Train returns tables for components, learned from recordings of a game that has exactly these. It leaves out tables
// with fewer than LeastCounted symbols, and tables beyond the limits of a set (delta.Trainer.LeftOut). The shipped tables
// replace them. Damaged parts are skipped. The errors are ErrProtocol and those of NewReader.
func Train(plans []*quantize.Plan, recordings ...io.Reader) (*delta.Tables, error) {
	trainer := delta.NewTrainer()
	counting := delta.NewCounting(trainer, false)
	for _, in := range recordings {
		p := playback{tables: counting, watch: counting.Count, from: 1, to: math.MaxInt64}
		if err := p.run(in, plans...); err != nil {
			return nil, err
		}
	}
	return trainer.BuildKnown(LeastCounted)
}
