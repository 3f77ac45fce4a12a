package secure

import (
	"log/slog"
	"slices"
	"time"

	"github.com/arche-netcode/netcode/transport"
)

// Admission decides which clients may join: Tokens or Open.
type Admission struct {
	open    bool
	servers []string
}

// Tokens admits clients with a connect token for this server; each token is accepted once. addresses are the server's addresses
// as in Token.Servers. Without addresses it is the address to which the connection is bound.
func Tokens(addresses ...string) *Admission { return &Admission{servers: slices.Clone(addresses)} }

// Open admits everybody who has the server's public key. Listen logs a warning.
func Open() *Admission { return &Admission{open: true} }

// tokenID is the nonce of a token.
type tokenID [tokenNonceSize]byte

// gate checks tokens and remembers the used ones until they expire.
type gate struct {
	*Admission
	key     Key
	used    map[tokenID]usedToken
	byUser  map[string]int // Number of used tokens of each user.
	limit   int            // Maximum of used.
	cleaned int64          // Unix second in which expired tokens were last removed.
}

// usedToken is a token that was used.
type usedToken struct {
	user    string
	expires int64 // Unix second.
}

// usersOfTokens is the number of users whose tokens fill the table. leastOfUser is how many tokens a user has at least.
const (
	usersOfTokens = 16
	leastOfUser   = 16
)

// warn logs that anyone may join, if the server uses Open.
func (g *gate) warn(log *slog.Logger, local transport.Addr) {
	if g.open {
		log.Warn("secure: Open: ANYONE MAY JOIN who has the server's public key, under any name; use secure.Tokens to admit known users", "address", local)
	}
}

// check validates the token of a client. With Open an empty token is valid.
func (g *gate) check(token []byte, now time.Time) (who identity, id tokenID, expires int64, result status) {
	if len(token) == 0 {
		if g.open {
			return who, id, 0, accepted
		}
		return who, id, 0, refusedMissing
	}
	t, err := parseToken(token)
	if err != nil {
		return who, id, 0, refusedMalformed
	}
	if who, result = t.read(g.key); result != accepted {
		return identity{}, id, 0, result
	}
	id = tokenID(t.nonce)
	seconds := now.Unix()
	switch {
	case seconds > t.expires:
		result = refusedExpired
	case seconds < t.issued-int64(clockSkew/time.Second):
		result = refusedEarly
	case !g.serves(&t):
		result = refusedForeign
	case g.isUsed(id):
		result = refusedUsed
	case !g.room(who.User, seconds):
		result = refusedFull
	}
	return who, id, t.expires, result
}

// serves reports whether the token is for this server.
func (g *gate) serves(t *openToken) bool {
	if g.open && len(g.servers) == 0 {
		return true
	}
	for _, s := range t.servers[:t.count] {
		if slices.Contains(g.servers, string(s)) {
			return true
		}
	}
	return false
}

// isUsed reports whether a token was used.
func (g *gate) isUsed(id tokenID) bool {
	_, used := g.used[id]
	return used
}

// use records that a token of a user is used. It returns false if the token was used before or there is no room.
func (g *gate) use(id tokenID, user string, expires int64, now time.Time) bool {
	if g.isUsed(id) || !g.room(user, now.Unix()) {
		return false
	}
	g.used[id] = usedToken{user, expires}
	g.byUser[user]++
	return true
}

// room reports whether one more used token of a user can be stored. A used token is stored until it expires. One user has only a part
// of the room, however many tokens the backend issues.
func (g *gate) room(user string, seconds int64) bool {
	part := max(g.limit/usersOfTokens, leastOfUser)
	isFull := func() bool { return len(g.used) >= g.limit || g.byUser[user] >= part }
	if isFull() && g.cleaned != seconds {
		g.cleaned = seconds
		for id, t := range g.used {
			if seconds > t.expires {
				delete(g.used, id)
				if g.byUser[t.user]--; g.byUser[t.user] == 0 {
					delete(g.byUser, t.user)
				}
			}
		}
	}
	return !isFull()
}
