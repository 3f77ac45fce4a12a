package handover

// The messages and seals of this package, for tests that play a hostile client.
type (
	Offer   = offer
	Here    = here
	Ready   = ready
	Carry   = carry
	Bring   = bring
	Arrived = arrived
	Left    = left
	Cancel  = cancel
)

// ParseSealed reads what is in a seal, as each kind: it must not fail on any bytes but with an error.
func ParseSealed(b []byte) {
	if p, err := parsePass(b); err == nil && string(p.append(nil)) != string(b) {
		panic("a pass has two forms")
	}
	if c, err := parseCarried(b); err == nil {
		if again, err := parseCarried(c.append(nil)); err != nil || string(again.saved) != string(c.saved) || string(again.data) != string(c.data) {
			panic("what is carried does not survive")
		}
	}
	_, _, _ = parseProof(b)
}

// Opens reports whether a key opens a seal.
func Opens(key [32]byte, b []byte) bool {
	s, err := newSeal(key, nil)
	if err != nil {
		panic(err)
	}
	for k := range kind(5) {
		if _, err := s.open(k, b); err == nil {
			return true
		}
	}
	return false
}

// SealedPass is a pass, and AppendCarried what is carried without its seal.
func SealedPass(user string) []byte { return (&pass{id: 7, user: user}).append(nil) }

// AppendCarried returns what is carried without its seal.
func AppendCarried(data, saved []byte) []byte {
	return (&carried{id: 7, nonce: nonce{1, 2}, data: data, saved: saved}).append(nil)
}

// PassID returns the id of the move in a sealed pass.
func PassID(key [32]byte, b []byte) uint64 {
	s, err := newSeal(key, nil)
	if err != nil {
		panic(err)
	}
	plain, err := s.open(kindPass, b)
	if err != nil {
		panic(err)
	}
	p, err := parsePass(plain)
	if err != nil {
		panic(err)
	}
	return uint64(p.id)
}
