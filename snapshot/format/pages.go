package format

// PageEntities is the number of entities of a page, with neighbouring indexes. They are one word of a bitset.
const PageEntities = 64

// MaxPages is the number of pages.
const MaxPages = MaxEntities / PageEntities

// MaxNear is the most ticks from N to R. An older N tells less about the movement at R.
const MaxNear = 15

// NibbleSize is the number of entities of a page that share one symbol.
const NibbleSize = 4

// The alphabet of Codes.Nibble: bit i is set if the i-th of the four entities has a record.
const (
	NibbleEnd   = 1 << NibbleSize // the page has no more records
	nibbleCount = NibbleEnd + 1
)

// Contexts of Codes.Nibble: how many of the last four entities had a record.
const (
	AfterNone = iota
	AfterSome
	AfterAll // also at the start of a page
	nibbleContexts
)

// AfterNibble returns the context after a symbol.
func AfterNibble(symbol int) int {
	switch symbol {
	case 0:
		return AfterNone
	case NibbleEnd - 1:
		return AfterAll
	}
	return AfterSome
}
