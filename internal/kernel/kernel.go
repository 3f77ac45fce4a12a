package kernel

import "sync/atomic"

const (
	// Lanes is the maximum number of lanes of a row in a batch.
	Lanes = 4
	// MaxStreams is the maximum number of rows in a batch.
	MaxStreams = 32
	// StreamBytes bounds the length of a stream, with 8 bytes to spare. A stream has a symbol for the rows and, per
	// row, a symbol for its lanes; per lane it has a token of a symbol and 31 raw bits.
	StreamBytes = 128
)

// Short tokens encode distances below ShortTokens, counted 0 -1 1 -2 2 and so on. A table entry has the code with its
// raw bits, a bit for "known", and from ShortSize on the number of bits.
const (
	ShortTokens = 256
	ShortCode   = 1<<23 - 1 // a code and five raw bits have at most 20
	ShortKnown  = 1 << 23
	ShortSize   = 24
)

type (
	// Rows are one version of a column's rows.
	Rows [MaxStreams * Lanes]uint32
	// Tops has the largest value of each lane, twice.
	Tops [2 * Lanes]uint32
)

// Batch is the state of rows that are encoded side by side.
type Batch struct {
	N      int                            // number of streams
	Acc    [MaxStreams]uint64             // by stream: bits not yet in Bytes
	Have   [MaxStreams]uint64             // by stream: number of bits in Acc, at most 63
	At     [MaxStreams]int                // by stream: offset in Bytes of the next word
	Miss   [MaxStreams]uint64             // Versions.Miss, times ShortTokens
	Differ [MaxStreams]uint8              // by stream: mask of the entity's rows that differ
	Bytes  [MaxStreams * StreamBytes]byte // the streams

	// Of the present column:

	Token  [MaxStreams * Lanes]uint32    // by stream and lane: index of the lane's token in its short tokens
	Far    [MaxStreams * Lanes]LongToken // long tokens
	Odd    [MaxStreams]uint8             // by stream: differing lanes, if the row is encoded on its own
	Usual  [MaxStreams]uint8             // by stream: differing lanes, if it is not
	Aim    [Lanes][MaxStreams]float64    // of rotations: the extrapolated components; lane 3: the square of their length
	Origin Rows                          // rows a tick before T that give the extrapolation by a straight line
}

// LongToken is the distance of a long token, counted as for short ones, and its context.
type LongToken struct {
	Distance uint64 // as of Token
	Context  uint64 // of the lane's table
}

// FloatCodes has the codes for entities with only float rows.
type FloatCodes struct {
	Rows           *atomic.Uint32 // codes that tell which rows differ
	Context, Known uint32         // first context of Rows; mask of rows that extends the context
	Shift          uint32         // log2 of the codes per context
	Count          uint32         // number of columns
	Columns        [4]FloatColumn // by row
}

// FloatColumn has the codes of a column of floats.
type FloatColumn struct {
	Lanes          *atomic.Uint32        // codes that tell which lanes differ; nil in rows of one lane
	Context, Known uint32                // as in FloatCodes
	Shift          uint32                // as in FloatCodes
	Tokens         [Lanes]*atomic.Uint32 // codes of the tokens of each lane
}

// Quats has the constants for extrapolating the rotations of a column.
type Quats struct {
	M               int64   // largest value of a lane
	Straight        int64   // 1 if age and span are 1
	Age, Half, Part float64 // age; half of the span, rounded down, plus 1/2; 1/span
	Limit           float64 // maximum movement of a component
	Whole           float64 // square of the length of quaternions
	Length          float64 // that length times 256
}

// MaxExpected is the maximum number of rows that are extrapolated together.
const MaxExpected = 16

// Expected has the extrapolated lanes of a column, before their tokens are read.
type Expected struct {
	Lanes [MaxExpected * Lanes]ExpectedLane // by row and lane
	Moved [MaxExpected]uint8                // by row: bit i: lane i moved from T' to T
}

// ExpectedLane is a lane before its token is read.
type ExpectedLane struct {
	At    uint32 // extrapolated value
	Place uint16 // first entry of its token, if the previous lane's miss is 0
	Down  uint16 // sign bit in an entry, if the lane is extrapolated downwards
}

// Movement has the constants of Expect. Lanes have up to 31 bits.
type Movement struct {
	Lanes           [Lanes]uint32 // top bit set if the row has the lane
	Top             [Lanes]uint32 // largest value of each lane
	First           uint32        // Place of a lane without movement
	Whole           int32         // the age, if the span is 1 and movement × age fits 32 bits; else 0
	Age, Half, Part float64       // age; half of the span, rounded down, plus 1/2; 1/span
}

// Unread tells ReadRows that the symbol for the changed rows is still to be read.
const Unread = 1 << Lanes

// Bits is the state of a RowReader.
type Bits struct {
	Buf  []byte // the bytes from its start
	At   int    // offset in Buf of the next byte that is not in Acc
	Acc  uint64 // next bits; above N undefined bits of later bytes
	N    uint   // number of bits in Acc
	Miss uint   // Versions.Miss, times 256
}

// ReadGroup is a group of components. One symbol per entity tells which of them changed.
type ReadGroup struct {
	Rows    [Lanes]*ReadRow     // nil: ReadRows does not support the component
	Which   *uint16             // entries of the symbol that tells which components changed
	Context [MaxExpected]uint16 // by entity: index of its first entry
}

// ReadRow is one component of the entities that are read together. The pointers are to entries of package delta, by
// context and the next eight bits. Entries of longer codes are by the next seven bits.
type ReadRow struct {
	Expected
	Context [MaxExpected]uint16 // by entity: first entry of the symbol that tells which lanes changed
	Which   *uint16             // entries of that symbol
	Tokens  [Lanes]*uint16      // entries of each lane's tokens
	More    [Lanes]*uint16      // entries of longer codes
	Most    [Lanes]uint32       // largest legal value of each lane
	At      int                 // index of its first lane in the entity's row
	Odd     uint                // lanes whose change ReadRows does not support
	Turn    int64               // rotations: largest value of a lane; else 0
}
