package message

// PostNear hands over a message from an end in the same process, by the rules of PostSelf: where both are in its stage the
// handler is called at once, else it waits for its stage. from is that end, as the
// receiver knows it. It has no quota. The errors are those of PostSelf.
func PostNear[T any](in *Inbound, from *Source, t *Type, c *CodecOf[T], m *Message, v *T) error {
	from.enter(in.number) // so that Drop knows to look for it
	return postFrom(in, from, t, c, m, v)
}

// PushNear is PostNear for a message that is encoded already.
func (in *Inbound) PushNear(from *Source, m *Message, body []byte) error {
	if from != in.local {
		from.enter(in.number)
	}
	if m.Stage.Valid() && len(body) <= maxPayload && in.handlesAtOnce(from, m) {
		in.handleAtOnce(from, m, body)
		return nil
	}
	room := in.room(from, len(body))
	if room == nil || len(body) > maxPayload {
		in.stats.Bytes++
		return ErrFull
	}
	copy(room, body)
	return in.putFrom(from, m.Type, m, len(body))
}
