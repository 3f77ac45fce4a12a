package fleet

// Tell hands an event to the next frame, as the goroutine of Run does.
func (m *Member) Tell(e Event) { m.events <- e }

// Ask returns the next player for whom a destination is asked.
func (m *Member) Ask() (user string, found func(token []byte, err error), ok bool) {
	select {
	case a := <-m.moves:
		return a.user, func(token []byte, err error) { m.found <- moveFound{a.client, a.user, token, err} }, true
	default:
		return "", nil, false
	}
}

// Ended reports whether the loop was ended, and what the checkpoint has.
func (m *Member) Ended() (saved []byte, ended bool) { return m.saved, m.ended }

// Told returns the newest status for the fleet, and how often the server became ready.
func (m *Member) Told() (Status, uint64) {
	s, _, ready := m.news.get()
	return s, ready
}
