package snapshot

// The first capacities of the lists of a tick: payloads, spans of entities, and anything else.
const (
	usualParts = 8
	usualSpans = 64
	usualList  = 64
)

// room returns s with space for n more, for least at first. Growing makes it twice as large as needed: the memory of a tick soon suffices
// for the fullest tick of a game, and nothing is allocated in the tenth minute.
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
