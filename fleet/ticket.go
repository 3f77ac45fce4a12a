package fleet

import (
	"errors"
	"fmt"
)

// MaxTicketData is the maximum size of Ticket.Data in bytes: with a match of MaxMatch bytes it fits secure.Token.Data.
const MaxTicketData = 330

// ticketVersion is the first byte of a ticket.
const ticketVersion = 1

// errTicket is the base of all errors of Ticket.Append.
var errTicket = errors.New("fleet: Ticket.Append")

// Ticket names the match of a connect token. It is the token's Data: the allocator seals it for one server, and the player can
// neither read nor change it.
type Ticket struct {
	Match string // Match.ID; empty for a player without a match, as in a world.
	Data  []byte // For the game, at most MaxTicketData bytes: a team, a character.
}

// Append appends the ticket to b, for secure.Token.Data. The error names the field that is out of range.
func (t Ticket) Append(b []byte) ([]byte, error) {
	if len(t.Match) > MaxMatch || len(t.Data) > MaxTicketData {
		return nil, fmt.Errorf("%w: Match has %d bytes of at most %d, Data %d of at most %d", errTicket, len(t.Match), MaxMatch, len(t.Data), MaxTicketData)
	}
	b = append(b, ticketVersion, byte(len(t.Match)))
	return append(append(b, t.Match...), t.Data...), nil
}

// ParseTicket parses the Data of a connect token. ok is false for bytes that Append did not write. Data shares b.
func ParseTicket(b []byte) (t Ticket, ok bool) {
	if len(b) < 2 || b[0] != ticketVersion || int(b[1]) > MaxMatch || len(b) < 2+int(b[1]) {
		return t, false
	}
	match, data := b[2:2+int(b[1])], b[2+int(b[1]):]
	if len(data) > MaxTicketData {
		return t, false
	}
	return Ticket{Match: string(match), Data: data}, true
}
