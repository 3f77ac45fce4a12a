package snapshot

// pageEntities is how many entities one page has: those of one word of a bitset, neighbours by index.
const pageEntities = 64

// mostNear is how many ticks N lies before R at most: the farther, the less it tells about the movement at R.
const mostNear = 15

// fourSize is how many entities of a page have one symbol.
const fourSize = 4

// The alphabet of codes.four: bit i is set when there is a record of the i-th.
const (
	fourNone  = 1 << fourSize // no more of the page
	fourCount = fourNone + 1
)

// Contexts of codes.four: how many of the four before there was a record of.
const (
	afterNone = iota
	afterSome
	afterAll // and at first
	fourContexts
)

// afterFour is the context behind a symbol.
func afterFour(symbol int) int {
	switch symbol {
	case 0:
		return afterNone
	case fourNone - 1:
		return afterAll
	}
	return afterSome
}
