package snapshot

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	// Any number of sequences: go test ./snapshot -run TestSequences -sequences 100000
	sequences = flag.Int("sequences", 500, "random sequences of TestSequences")
	// One that failed, again: go test ./snapshot -run TestSequences -sequences 1 -sequence-seed N
	sequenceSeed = flag.Uint64("sequence-seed", 1, "seed of the first sequence; the next has the next number")
)

// TestSequences plays short random games with everything that a server can do
// to eight entities, before two clients behind networks that lose, duplicate,
// reorder, delay past the window and go dark, with a ring of sixteen sent
// packets, a window of sixteen ticks and packets that hold a few records. Each
// packet that a client reads is held against a reference that only remembers
// what each client was meant to hold at each tick, and at the end, on a healed
// network, both must hold exactly that.
func TestSequences(t *testing.T) {
	met := &sequenceLimits{} // and shown below to be met
	schemas := sequenceSchemas(t)
	count := *sequences
	if testing.Short() {
		count = min(count, 300)
	}
	for n := range uint64(count) {
		seed := *sequenceSeed + n
		if err := newSequence(schemas[seed%2], seed, met).run(); err != nil {
			t.Fatalf("-sequences 1 -sequence-seed %d: %v", seed, err)
		}
	}
	if count < 1000 {
		return
	}
	t.Logf("%+v", *met)
	for name, count := range met.all() {
		require.NotZero(t, count, "no sequence met: %s", name)
	}
}

// TestTheServerReadsABaselineThatLeftTheHistory plays the game in which T and T' of a record had both left the history. The
// server reads its own payload with the newer one, as the client does.
func TestTheServerReadsABaselineThatLeftTheHistory(t *testing.T) {
	const seed = 9001
	require.NoError(t, newSequence(sequenceSchemas(t)[seed%2], seed, new(sequenceLimits)).run())
}

// sequenceLimits counts that the sequences really meet what they are for.
type sequenceLimits struct {
	stale, late, overwritten, resyncs, resent, repeated, spawns, despawns int
	deltas, unchanged, kept, hiddenRows, grouped, references, bounded     int
	together, parted, moved, untied                                       int
	silent, handovers, corrections, own, replaced                         int
}

func (l *sequenceLimits) all() map[string]int {
	return map[string]int{
		"packets past the window": l.stale, "late records": l.late, "a full ring": l.overwritten, "resyncs": l.resyncs,
		"resent records": l.resent, "records repeated early": l.repeated, "spawns": l.spawns, "despawns": l.despawns,
		"deltas": l.deltas, "unchanged rows": l.unchanged, "kept entities": l.kept, "hidden components": l.hiddenRows,
		"records of groups": l.grouped, "references": l.references, "ticks cut short by the budget": l.bounded,
		"changes of groups": l.together, "despawns of members": l.parted, "members that move on": l.moved,
		"hidden changes": l.silent, "lost rights": l.handovers, "corrections": l.corrections, "mirrored deaths and births at once": l.replaced, "own writes that the client is not told": l.own,
	}
}

func (l *sequenceLimits) add(s *sequence) {
	for _, c := range s.clients {
		sent, got := c.view.Stats(), c.replica.Stats()
		l.stale += int(got.Stale)
		l.late += int(got.Late)
		l.overwritten += int(sent.Overwritten)
		l.resyncs += int(sent.Resyncs)
		l.resent += int(sent.Resent)
		l.repeated += int(sent.Repeated)
		l.spawns += int(sent.Spawns)
		l.despawns += int(sent.Despawns)
		l.deltas += int(sent.Deltas)
		l.unchanged += int(sent.Unchanged)
	}
}
