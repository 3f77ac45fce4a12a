package kernel

import (
	"math/bits"
	"sync/atomic"
)

const (
	// Lanes is the largest number of lanes of a row of a batch.
	Lanes = 4
	// MaxStreams is the largest number of rows of a batch.
	MaxStreams = 32
	// StreamBytes is more than a stream takes: a symbol for the rows, and for each row one for its lanes and a token of a symbol and 31 raw bits for each of
	// these; and 8 bytes behind it.
	StreamBytes = 128
)

// Short tokens are those of distances below ShortTokens, counted 0 -1 1 -2 2 and so on. An entry has the code with its raw bits, a bit that it is known, and
// from ShortSize on the number of bits.
const (
	ShortTokens = 256
	ShortCode   = 1<<23 - 1 // a code and five raw bits are 20 at most
	ShortKnown  = 1 << 23
	ShortSize   = 24
)

type (
	// Rows are one version of a column's rows, one behind the other.
	Rows [MaxStreams * Lanes]uint32
	// Tops is the largest number of each lane, twice.
	Tops [2 * Lanes]uint32
)

// Batch is the state of rows that are encoded side by side.
type Batch struct {
	N      int                            // streams
	Acc    [MaxStreams]uint64             // by stream: bits not yet among the bytes
	Have   [MaxStreams]uint64             // how many these are, up to 63
	At     [MaxStreams]int                // the byte that they go to
	Miss   [MaxStreams]uint64             // Versions.Miss, times ShortTokens
	Differ [MaxStreams]uint8              // which rows of the entity differ
	Bytes  [MaxStreams * StreamBytes]byte // the streams

	// Of the column that is encoded:

	Token  [MaxStreams * Lanes]uint32    // by stream and lane: where in the lane's short tokens its token is
	Far    [MaxStreams * Lanes]LongToken // tokens that are not short
	Odd    [MaxStreams]uint8             // the differing lanes of rows that are encoded one by one
	Usual  [MaxStreams]uint8             // the differing lanes of all other rows
	Aim    [Lanes][MaxStreams]float64    // of rotations: the extrapolated components, in lane 3 the square of their length
	Origin Rows                          // where rows would come from, a tick before T, if they moved on as extrapolated
}

// LongToken is a token that is not short: the distance, counted as for short ones, and the context.
type LongToken struct {
	Distance uint64 // as of Token
	Context  uint64 // of the lane's table
}

// TokenTables are the addresses of the codes of a row's lanes.
type TokenTables struct {
	Flat  *atomic.Uint32        // which lanes differ
	Short [Lanes]*atomic.Uint32 // short tokens
	Last  [Lanes]uint32         // the last of them
}

// FloatCodes has the codes of bodies of nothing but floats.
type FloatCodes struct {
	Rows           *atomic.Uint32 // codes of which rows differ
	Context, Known uint32         // of these: the first context; which rows tell more of it
	Shift          uint32         // codes of a context, as a power of two
	Count          uint32         // columns
	Columns        [4]FloatColumn // by row
}

// FloatColumn has the codes of a column of floats.
type FloatColumn struct {
	Lanes          *atomic.Uint32        // codes of which lanes differ, nil in rows of one lane
	Context, Known uint32                // of these, as of FloatCodes
	Shift          uint32                // as of FloatCodes
	Tokens         [Lanes]*atomic.Uint32 // codes of the tokens of each lane
}

// Quats are the numbers that the rotations of a column are extrapolated with.
type Quats struct {
	M               int64   // the largest number of a lane
	Straight        int64   // 1 if age and span are 1
	Age, Half, Part float64 // the age; half of the span, rounded down, and 1/2; 1 divided by the span
	Limit           float64 // how far a component moves at most
	Whole           float64 // the square of the length of quaternions
	Length          float64 // that length times 256
}

// MaxExpected is the number of rows that are expected together.
const MaxExpected = 16

// Expected is the lanes of rows of a column before their tokens are read.
type Expected struct {
	Lanes [MaxExpected * Lanes]ExpectedLane // by row and lane
	Moved [MaxExpected]uint8                // by row: bit i that lane i moved from T' to T
}

// ExpectedLane is a lane before its token is read.
type ExpectedLane struct {
	At    uint32 // where it is expected
	Place uint16 // where the entries of its token begin, if the lane before was not far off
	Down  uint16 // the bit of the sign in an entry, if the lane is expected to move down
}

// Movement has the numbers that Expect extrapolates by. Lanes are up to 31 bits wide.
type Movement struct {
	Lanes           [Lanes]uint32 // the upmost bit of each tells that a row has the lane
	Top             [Lanes]uint32 // the largest number of each lane
	First           uint32        // Place of a lane that does not move
	Whole           int32         // the age, if the span is 1 and a movement times the age is within 32 bits; else 0
	Age, Half, Part float64       // the age; half of the span, rounded down, and 1/2; 1 divided by the span
}

// Unread tells ReadRows that the symbol which tells the rows is not read yet.
const Unread = 1 << Lanes

// Bits is the state of a reader of rows.
type Bits struct {
	Buf  []byte // the bytes that it began with
	At   int    // the next byte of Buf that is not in Acc
	Acc  uint64 // bits next to be read; above N some that come after them
	N    uint   // how many
	Miss uint   // Versions.Miss, times 256
}

// ReadGroup is a group of components. One symbol of a record tells which of them changed.
type ReadGroup struct {
	Rows    [Lanes]*ReadRow     // nil: ReadRows does not read it
	Which   *uint16             // entries of the symbol that tells which components changed
	Context [MaxExpected]uint16 // by entity: where its entries begin
}

// ReadRow is one component of the entities that are read together. The pointers are to entries of package delta, by context and the next eight bits, and of
// longer codes to those by the next seven.
type ReadRow struct {
	Expected
	Context [MaxExpected]uint16 // by entity: where the entries of the symbol begin that tells which lanes changed
	Which   *uint16             // entries of that symbol
	Tokens  [Lanes]*uint16      // entries of each lane's tokens
	More    [Lanes]*uint16      // and those of longer codes
	Most    [Lanes]uint32       // the largest legal number of each lane
	At      int                 // its first lane, of those of an entity
	Odd     uint                // in which lanes a row changes that ReadRows does not read
	Turn    int64               // of a rotation the largest number of a lane, else 0
}

// FixedRun is two to four float32 fields with bounds, one behind the other in memory. Those that it has not are zero and have zero as their bounds.
type FixedRun struct {
	Least, Most [4]float64 // the bounds
	Scale       [4]float64 // steps to a unit
	Step        [4]float64 // units to a step
	Half        [4]float64 // 1/2, added before numbers are rounded down
	Mask        [4]uint32  // the upmost bit of each tells that there is such a field
	Fields      uint64     // how many there are
}

// BlockFloats is the number of floats of a FixedBlock: rows of one to four fields, and of six, fill it.
const BlockFloats = 12

// QuatBlock is the number of rotations that SnapQuats goes over at a time.
const QuatBlock = 8

// OddQuat returns which rotation of a block the lowest bit of SnapQuats' odd is of.
func OddQuat(odd uint64) int {
	bit := bits.TrailingZeros64(odd)
	return bit%4*2 + bit/4
}

// FixedBlock is float32 fields with bounds that lie one behind the other, row behind row, with nothing between them.
type FixedBlock struct {
	Least, Most [BlockFloats]float64 // the bounds
	Scale       [BlockFloats]float64 // steps to a unit
	Step        [BlockFloats]float64 // units to a step
	Half        float64              // 1/2, added before numbers are rounded down
}

// QuatNumbers are the numbers that rotations are quantised by, and back, each as often as a register has room for it.
type QuatNumbers struct {
	One         [4]float64 // 1
	Slack, Less [4]float64 // how far from 1 the square of a length may be, and the negative of that
	Near        [4]float64 // how much smaller than the largest component all others have to be
	Scale, Mid  [4]float64 // steps to a unit; half of the largest number, and 1/2
	Last        [4]uint32  // 3
	Step, Edge  [4]float64 // units to a step; the largest magnitude of a component that is not left out
	Unit        float32    // 1
	UnitSlack   float32    // of SnapQuats: less than Slack
	UnitNear    float32    // and more than Near
}
