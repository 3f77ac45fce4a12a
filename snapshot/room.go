package snapshot

// First capacities of the lists of a tick: of payloads, of spans of entities, and of others.
const (
	usualParts = 8
	usualSpans = 64
	usualList  = 64
)

// room returns s with space for n more elements, at first for at least least. Growing doubles the space, so that soon the fullest tick
// of a game fits and nothing is allocated any more.
func room[T any](s []T, n, least int) []T {
	most := len(s) + n
	if most <= cap(s) {
		return s
	}
	if cap(s) > 0 {
		most *= 2
	}
	return append(make([]T, 0, max(most, least)), s...)
}
