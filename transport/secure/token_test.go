package secure

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/transport"
)

// Each bad token is a typed error at the client, and a counter of its own at the server.
func TestEachBadTokenHasItsErrorAndItsCounter(t *testing.T) {
	foreign := func(tk *Token) { tk.Servers = []string{"127.0.0.1:9001", "play.example.org:9000"} }
	other := Key{8}
	tests := []struct {
		name  string
		token func(r *rig) []byte
		err   error
		count func(s Stats) uint64
	}{
		{"none", func(*rig) []byte { return nil }, ErrTokenMissing, func(s Stats) uint64 { return s.TokenMissing }},
		{"foreign", func(r *rig) []byte { return r.token(foreign) }, ErrTokenForeign, func(s Stats) uint64 { return s.TokenForeign }},
		{"expired", func(r *rig) []byte {
			b := r.token(nil)
			r.date = r.date.Add(time.Minute + time.Second)
			return b
		}, ErrTokenExpired, func(s Stats) uint64 { return s.TokenExpired }},
		{"the server's clock is an hour late", func(r *rig) []byte {
			b := r.token(func(tk *Token) { tk.Expires = tk.Issued.Add(12 * time.Hour) })
			r.date = r.date.Add(-time.Hour)
			return b
		}, ErrTokenEarly, func(s Stats) uint64 { return s.TokenEarly }},
		{"the server's clock is an hour ahead", func(r *rig) []byte {
			b := r.token(nil)
			r.date = r.date.Add(time.Hour)
			return b
		}, ErrTokenExpired, func(s Stats) uint64 { return s.TokenExpired }},
		{"of another key", func(r *rig) []byte {
			b := must(Issue(other, Token{User: "eve", Servers: []string{"127.0.0.1:9000"}, Issued: r.date, Expires: r.date.Add(time.Minute)}))
			public := r.key.Public()
			copy(b[1:], public[:]) // So that the server can read the handshake.
			return b
		}, ErrTokenForged, func(s Stats) uint64 { return s.TokenForged }},
		{"with a later end", func(r *rig) []byte {
			b := r.token(nil)
			at := len(b) - (tokenNonceSize + tagSize + len("\x03adared team")) - 1
			b[at] += 30
			return b
		}, ErrTokenForged, func(s Stats) uint64 { return s.TokenForged }},
		{"with another user", func(r *rig) []byte {
			b := r.token(nil)
			b[len(b)-tagSize-3] ^= 1
			return b
		}, ErrTokenForged, func(s Stats) uint64 { return s.TokenForged }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t, nil)
			token := test.token(r)
			c := r.dial(ClientConfig{ServerKey: r.key.Public(), Token: token})
			require.ErrorIs(t, r.join(c), test.err)
			require.ErrorIs(t, c.Err(), test.err)
			require.Positive(t, test.count(r.server.Stats()))
			require.Zero(t, r.server.Stats().Accepted)
			require.Zero(t, r.server.Stats().Sessions)
			require.Zero(t, r.server.Stats().UsedTokens)
			require.NotContains(t, test.err.Error(), "%")

			if len(token) > 0 { // A good one then works with the same client.
				if r.date.Before(time.Unix(1_800_000_000, 0)) {
					r.date = time.Unix(1_800_000_000, 0)
				}
				require.NoError(t, c.SetToken(r.token(nil)))
				require.NoError(t, r.join(c))
			}
		})
	}
}

// A clock that is an hour wrong at the client changes nothing: the server's clock decides.
func TestTheClientsClockDoesNotMatter(t *testing.T) {
	for _, wrong := range []time.Duration{-time.Hour, time.Hour} {
		r := newRig(t, nil)
		c := r.dial(ClientConfig{Token: r.token(nil), Wall: func() time.Time { return r.date.Add(wrong) }})
		require.NoError(t, r.join(c))
	}
}

// A token is good once, for whoever uses its session first. A repeat by the network is no second use.
func TestATokenIsGoodOnce(t *testing.T) {
	r := newRig(t, nil)
	token := r.token(nil)
	a, b := r.dial(ClientConfig{Token: token}), r.dial(ClientConfig{Token: token})
	require.NoError(t, r.join(a))
	must(r.drain(r.server))
	require.Equal(t, 1, r.server.Stats().UsedTokens)
	require.ErrorIs(t, r.join(b), ErrTokenUsed)
	require.Positive(t, r.server.Stats().TokenUsed)
	require.ErrorIs(t, r.join(b), ErrTokenUsed, "the client does not try it again")
	require.EqualValues(t, 1, b.Stats().Handshakes)

	// Two that begin at the same time: the newer handshake counts, and the other one is told.
	token = r.token(nil)
	c, d := r.dial(ClientConfig{Token: token}), r.dial(ClientConfig{Token: token})
	for _, one := range []*Client{c, d} {
		require.NoError(t, one.Send(r.at, []byte("x")))
		must(r.drain(r.server))
		must(r.drain(one))
	}
	must(r.drain(r.server))
	require.Empty(t, must(r.drain(c)))
	require.Empty(t, must(r.drain(d)))
	require.True(t, c.Open() && d.Open())
	require.Equal(t, []got{{keyedBy(d.LocalAddr(), 3), "x"}}, must(r.drain(r.server)))
	require.Equal(t, 2, r.server.Stats().UsedTokens)
	_, _, ok := r.server.Proved(keyedBy(c.LocalAddr(), 2))
	require.False(t, ok)
	require.Empty(t, must(r.drain(c)))
	require.False(t, c.Open())
	require.ErrorIs(t, r.join(c), ErrTokenUsed)
}

// An Initiate that another address sends again is worth nothing: the cookie in it is bound to the address.
func TestARecordedInitiateIsWorthNothingElsewhere(t *testing.T) {
	r := newRig(t, nil)
	p := newProxy(r, 1)
	p.record = true
	c := r.dialOver(p.near, ClientConfig{Token: r.token(nil)})
	r.at = p.front
	for range 10 {
		require.NoError(t, c.Send(p.front, []byte("x")))
		p.pump()
		must(r.drain(r.server))
		p.pump()
		must(r.drain(c))
	}
	require.True(t, c.Open())
	thief := must(r.network.Listen(transport.Addr{}))
	before := r.server.Stats()
	for _, d := range p.recorded {
		if d.bytes[0] == kindInitiate {
			require.NoError(t, thief.Send(r.server.LocalAddr(), d.bytes))
		}
	}
	must(r.drain(r.server))
	after := r.server.Stats()
	require.Greater(t, after.BadCookie, before.BadCookie)
	require.Equal(t, before.Handshakes, after.Handshakes)
	require.Equal(t, before.Sessions, after.Sessions)
}

// The memory of used tokens is bounded: it refuses, and never forgets a token that is still good.
func TestUsedTokensAreBoundedAndForgottenWhenTheyExpire(t *testing.T) {
	now := time.Unix(1000, 0)
	g := gate{Admission: Tokens("a"), used: map[tokenID]usedToken{}, byUser: map[string]int{}, limit: 3}
	for i := range 3 {
		require.True(t, g.use(tokenID{byte(i)}, "ada", 1000+int64(i), now))
	}
	require.False(t, g.use(tokenID{3}, "ada", 2000, now), "full")
	require.False(t, g.use(tokenID{0}, "ada", 2000, now), "used")
	now = now.Add(2 * time.Second)
	require.True(t, g.use(tokenID{4}, "ada", 2000, now))
	require.False(t, g.use(tokenID{2}, "ada", 2000, now))
	require.True(t, g.use(tokenID{5}, "ada", 2000, now))
	require.False(t, g.use(tokenID{6}, "ada", 2000, now))
}

// One user has only a part of the memory of used tokens, however many tokens the backend gives him: others join.
func TestOneUserDoesNotFillTheMemoryOfTokens(t *testing.T) {
	now := time.Unix(1000, 0)
	g := gate{Admission: Tokens("a"), used: map[tokenID]usedToken{}, byUser: map[string]int{}, limit: 1600}
	taken := 0
	for i := range 1600 {
		if g.use(tokenID{byte(i), byte(i >> 8)}, "mallory", 2000+int64(i), now) {
			taken++
		}
	}
	require.Equal(t, 100, taken)
	require.True(t, g.use(tokenID{0, 0, 1}, "ada", 2000, now))
	now = now.Add(1010 * time.Second)
	require.True(t, g.use(tokenID{0, 0, 2}, "mallory", 4000, now), "some have expired")
	require.Equal(t, map[string]int{"mallory": 91}, g.byUser)
}

func TestATokenThatIsCutIsRefusedAtOnce(t *testing.T) {
	r := newRig(t, nil)
	token := r.token(nil)
	_, err := Dial(must(r.network.Listen(transport.Addr{})), ClientConfig{Token: token})
	require.NoError(t, err)
	whole := 0
	for n := range token {
		if n == 0 {
			continue
		}
		_, err := Dial(must(r.network.Listen(transport.Addr{})), ClientConfig{Token: token[:n]})
		if err == nil { // Its open part is whole. The server finds it out.
			whole++
			c := r.dial(ClientConfig{Token: token[:n]})
			require.ErrorIs(t, r.join(c), ErrTokenForged, n)
			continue
		}
		require.ErrorIs(t, err, ErrTokenMalformed, n)
	}
	require.Less(t, whole, 20)
	c := r.dial(ClientConfig{Token: token})
	c.token = token[:40] // A client that sends it all the same.
	require.ErrorIs(t, r.join(c), ErrTokenMalformed)
	require.Positive(t, r.server.Stats().TokenMalformed)
}

func TestIssueNamesTheFieldThatIsWrong(t *testing.T) {
	good := Token{User: "ada", Servers: []string{"a:1"}, Issued: time.Unix(1000, 0), Expires: time.Unix(1060, 0)}
	_, err := Issue(Key{1}, good)
	require.NoError(t, err)
	for field, change := range map[string]func(*Token){
		"Token.User":    func(tk *Token) { tk.User = "" },
		"User has 65":   func(tk *Token) { tk.User = strings.Repeat("a", 65) },
		"Token.Servers": func(tk *Token) { tk.Servers = nil },
		"has 5 addr":    func(tk *Token) { tk.Servers = []string{"a", "b", "c", "d", "e"} },
		"65 bytes":      func(tk *Token) { tk.Servers = []string{strings.Repeat("a", 65)} },
		"Token.Data":    func(tk *Token) { tk.Data = make([]byte, MaxData+1) },
		"Token.Expires": func(tk *Token) { tk.Expires = tk.Issued },
		"at most 24h":   func(tk *Token) { tk.Expires = tk.Issued.Add(25 * time.Hour) },
	} {
		bad := good
		change(&bad)
		_, err := Issue(Key{1}, bad)
		require.ErrorContains(t, err, field)
	}
	_, err = Issue(Key{}, good)
	require.ErrorContains(t, err, "key is zero")
	good.Issued = time.Time{}
	good.Expires = time.Now().Add(time.Minute)
	_, err = Issue(Key{1}, good)
	require.NoError(t, err)
}

// Any token comes back as it was made, fits, and does not open when a bit of it is flipped.
func TestTokensOfAllSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(most int, name string) string {
			return strings.Repeat("x", rapid.IntRange(1, most).Draw(t, name))
		}
		token := Token{User: text(MaxUser, "user"), Issued: time.Unix(1000, 0), Expires: time.Unix(1000+rapid.Int64Range(1, 86400).Draw(t, "life"), 0)}
		for range rapid.IntRange(1, MaxServers).Draw(t, "servers") {
			token.Servers = append(token.Servers, text(maxServerText, "server"))
		}
		token.Data = rapid.SliceOfN(rapid.Byte(), 0, MaxData).Draw(t, "data")
		b, err := Issue(Key{1}, token)
		require.NoError(t, err)
		require.LessOrEqual(t, len(b), MaxTokenSize)
		servers, err := TokenServers(b)
		require.NoError(t, err)
		require.Equal(t, token.Servers, servers)
		parsed, err := parseToken(b)
		require.NoError(t, err)
		who, result := parsed.read(Key{1})
		require.Equal(t, accepted, result)
		require.Equal(t, token.User, who.User)
		require.Equal(t, string(token.Data), string(who.Data))
		_, result = parsed.read(Key{2})
		require.Equal(t, refusedForged, result)
		b[rapid.IntRange(0, len(b)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if parsed, err = parseToken(b); err == nil {
			_, result = parsed.read(Key{1})
			require.Equal(t, refusedForged, result)
		}
	})
}

func TestKeysAsText(t *testing.T) {
	k := must(NewKey())
	require.Equal(t, k, must(ParseKey(k.Text()+"\n")))
	require.Equal(t, k.Public(), must(ParsePublicKey(k.Public().String())))
	require.NotContains(t, k.String()+k.GoString(), k.Text())
	for _, bad := range []string{"", "00", k.Text() + "00", strings.Repeat("g", 64)} {
		_, err := ParseKey(bad)
		require.ErrorIs(t, err, errKeyText)
	}
	_, err := ReadKey(t.TempDir() + "/none.key")
	require.ErrorContains(t, err, "netcode key")
}
