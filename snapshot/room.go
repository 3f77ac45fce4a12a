package snapshot

// What the lists of a tick have room for at once: so many payloads, spans of
// entities, and anything else of which there is little in most ticks.
const (
	usualParts = 8
	usualSpans = 64
	usualList  = 64
)

// room returns s with space for n more, for least at first. What has to grow after
// that becomes twice as large as it needs to be: the memory of a tick then soon
// suffices for the fullest tick of a game, and nothing is allocated in the tenth
// minute.
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
