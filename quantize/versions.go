package quantize

// Versions are what a row is coded against.
type Versions struct {
	Base   []uint32 // as of T
	Before []uint32 // as of T', nil when that is not to be leaned on
	Age    int64    // ticks from T to the row's own tick, from 1
	Span   int64    // ticks from T' to T, from 1; of no meaning without Before
	Miss   int      // how far off the last lane was of the same entity's row before, 0 to 2; coding a row sets it for the next
}
