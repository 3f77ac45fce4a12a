package secure

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flynn/noise"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/arche-netcode/netcode/transport"
)

// A client that pins another key than the server's gets ErrServerKey. The hint is forgeable, so it counts only at the end.
func TestAWrongServerKey(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Admit = Open() })
	c := r.dial(ClientConfig{ServerKey: Key{66}.Public()})
	began := r.now
	require.ErrorIs(t, r.join(c), ErrServerKey)
	require.GreaterOrEqual(t, r.now-began, 10*time.Second)
	require.Positive(t, r.server.Stats().WrongKey)
	require.Zero(t, r.server.Stats().Sessions)
	require.False(t, c.Open())

	_, err := Dial(r.network2(), ClientConfig{ServerKey: Key{66}.Public(), Token: r.token(nil)})
	require.ErrorIs(t, err, ErrServerKey, "the token is for another server than the pinned one")

	// A server that answers in place of the right one cannot make an Accept.
	impostor := newRig(t, func(c *Config) { c.Admit, c.Key = Open(), Key{67} })
	d := impostor.dial(ClientConfig{ServerKey: Key{68}.Public()})
	require.ErrorIs(t, impostor.join(d), ErrServerKey)
}

func (r *rig) network2() transport.Conn { return must(r.network.Listen(transport.Addr{})) }

// Nobody answers, or somebody without this package.
func TestNoAnswer(t *testing.T) {
	r := newRig(t, nil)
	c := r.dial(ClientConfig{Token: r.token(nil)})
	deaf := must(r.network.Listen(transport.Addr{}))
	r.at = deaf.LocalAddr()
	require.ErrorIs(t, r.join(c), ErrNoAnswer)
	require.NoError(t, deaf.Send(c.LocalAddr(), []byte("a packet in clear")))
	require.Empty(t, must(r.drain(c)))
	require.EqualValues(t, 1, c.Stats().Malformed)
}

// The network cannot make the ends agree on less: versions and ciphers are part of what is signed.
func TestADowngradeDoesNotHappen(t *testing.T) {
	run := func(change func(d *recorded), client Cipher) (*rig, *Client) {
		r := newRig(t, func(c *Config) { c.Admit = Open() })
		p := newProxy(r, 1)
		p.change = change
		c := r.dialOver(p.near, ClientConfig{ServerKey: r.key.Public(), Ciphers: client})
		for range 150 {
			require.NoError(t, c.Send(p.front, []byte("x")))
			p.pump()
			must(r.drain(r.server))
			p.pump()
			if _, err := r.drain(c); err != nil {
				break
			}
			r.now += 100 * time.Millisecond
		}
		return r, c
	}
	for name, test := range map[string]struct {
		change func(d *recorded)
		err    error
		count  func(Stats) uint64
	}{
		"another version in requests": {func(d *recorded) {
			if d.toServer && d.bytes[0] == kindRequest {
				d.bytes[1] = version - 1
			}
		}, ErrVersion, func(s Stats) uint64 { return s.Version }},
		"another version in initiates": {func(d *recorded) {
			if d.toServer && d.bytes[0] == kindInitiate {
				d.bytes[1] = version - 1
			}
		}, ErrVersion, func(s Stats) uint64 { return s.Version }},
		"other bytes in the offer": {func(d *recorded) {
			if d.toServer && d.bytes[0] == kindInitiate {
				d.bytes[challengeSize+32] ^= 2
			}
		}, ErrServerKey, func(s Stats) uint64 { return s.WrongKey }},
		"other bytes in the answer": {func(d *recorded) {
			if !d.toServer && d.bytes[0] == kindAccept {
				d.bytes[helloSize+33] ^= 3
			}
		}, ErrNoAnswer, func(s Stats) uint64 { return s.RepeatedInitiates }},
	} {
		r, c := run(test.change, 0)
		require.ErrorIs(t, c.Err(), test.err, name)
		require.False(t, c.Open(), name)
		require.Positive(t, test.count(r.server.Stats()), name)
	}
	// A refusal that a stranger sends is only a hint: the session comes about all the same.
	_, c := run(func(d *recorded) {
		if !d.toServer && d.bytes[0] == kindChallenge {
			d.bytes = append(d.bytes[:helloSize], byte(refusedVersion))
			d.bytes[0] = kindRefuse
		}
	}, 0)
	require.ErrorIs(t, c.Err(), ErrVersion, "as nothing better came")
	n := 0
	_, c = run(func(d *recorded) {
		if n++; !d.toServer && d.bytes[0] == kindChallenge && n < 5 {
			d.bytes = append(d.bytes[:helloSize], byte(refusedVersion))
			d.bytes[0] = kindRefuse
		}
	}, 0)
	require.True(t, c.Open())

	// Each end may insist on its ciphers.
	r, c := run(nil, ChaCha20Poly1305)
	require.Equal(t, ChaCha20Poly1305, c.to.cipher)
	require.Positive(t, r.server.Stats().Confirmed)
	_, c = run(nil, AESGCM|ChaCha20Poly1305)
	require.Equal(t, AESGCM, c.to.cipher)
	r = newRig(t, func(c *Config) { c.Admit, c.Ciphers = Open(), AESGCM })
	c = r.dial(ClientConfig{ServerKey: r.key.Public(), Ciphers: ChaCha20Poly1305})
	require.ErrorIs(t, r.join(c), ErrCipher)
	require.Positive(t, r.server.Stats().NoCipher)
}

func TestListenAndDialSayWhatIsMissing(t *testing.T) {
	r := newRig(t, nil)
	any := must(r.network.Listen(transport.MustParseAddr("0.0.0.0:7000")))
	for text, config := range map[string]Config{
		"netcode key":        {Admit: Open()},
		"secure.Open()":      {Key: Key{1}},
		"secure.Tokens(\"HO": {Key: Key{1}, Admit: Tokens()},
		"out of its range":   {Key: Key{1}, Admit: Open(), Ciphers: 8},
	} {
		_, err := Listen(any, config)
		require.ErrorContains(t, err, text)
	}
	_, err := Listen(nil, Config{Key: Key{1}, Admit: Open()})
	require.ErrorContains(t, err, "nil")
	_, err = Dial(any, ClientConfig{})
	require.ErrorContains(t, err, "ServerKey")
	_, err = Dial(nil, ClientConfig{ServerKey: Key{1}.Public()})
	require.ErrorContains(t, err, "nil")
	_, err = Dial(any, ClientConfig{Token: []byte("x")})
	require.ErrorIs(t, err, ErrTokenMalformed)
	_, err = Listen(any, Config{Key: Key{1}, Admit: Tokens("play.example.org:7000")})
	require.NoError(t, err)
}

// The library gives the bytes of the known vectors for the pattern of this package.
func TestKnownVectorsOfTheHandshake(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "noise_nk.txt"))
	require.NoError(t, err)
	vectors := strings.Split(string(text), "handshake=Noise_NK_25519_ChaChaPoly_SHA256\n")[1:]
	require.Len(t, vectors, 4)
	for _, vector := range vectors {
		v := map[string][]byte{}
		for _, line := range strings.Fields(vector) {
			name, text, _ := strings.Cut(line, "=")
			v[name] = must(hex.DecodeString(text))
		}
		checkVector(t, v)
	}
}

// checkVector makes one handshake of the vectors, and two messages after it.
func checkVector(t *testing.T, v map[string][]byte) {
	t.Helper()
	static := keyPair(v["resp_static"])
	make := func(initiator bool) *noise.HandshakeState {
		c := noise.Config{CipherSuite: suite(), Pattern: noise.HandshakeNK, Initiator: initiator, Prologue: v["prologue"], StaticKeypair: static, Random: bytes.NewReader(v["gen_resp_ephemeral"])}
		if initiator {
			c.StaticKeypair, c.PeerStatic, c.Random = noise.DHKey{}, static.Public, bytes.NewReader(v["gen_init_ephemeral"])
		}
		return must(noise.NewHandshakeState(c))
	}
	a, b := make(true), make(false)
	one, _, _, err := a.WriteMessage(nil, v["msg_0_payload"])
	require.NoError(t, err)
	require.Equal(t, v["msg_0_ciphertext"], one)
	_, _, _, err = b.ReadMessage(nil, one)
	require.NoError(t, err)
	two, toServer, toClient, err := b.WriteMessage(nil, v["msg_1_payload"])
	require.NoError(t, err)
	require.Equal(t, v["msg_1_ciphertext"], two)
	_, _, _, err = a.ReadMessage(nil, two)
	require.NoError(t, err)
	for i, c := range []*noise.CipherState{toServer, toClient} {
		three := must(c.Encrypt(nil, nil, v[fmt.Sprintf("msg_%d_payload", i+2)]))
		require.Equal(t, v[fmt.Sprintf("msg_%d_ciphertext", i+2)], three)
	}
}

func keyPair(private []byte) noise.DHKey {
	pair := must(noise.DH25519.GenerateKeypair(bytes.NewReader(private)))
	return pair
}

// A second reader has PROTOCOL.md, a recording and the key log, and no code of this package but the log's first word.
func TestASecondReaderDecodesASession(t *testing.T) {
	for _, kind := range []Cipher{AESGCM, ChaCha20Poly1305} {
		var log bytes.Buffer
		r := newRig(t, func(c *Config) { c.KeyLog = &log })
		p := newProxy(r, 1)
		p.record = true
		c := r.dialOver(p.near, ClientConfig{Token: r.token(nil), Ciphers: kind})
		for i := range 60 {
			require.NoError(t, c.Send(p.front, fmt.Appendf(nil, "upward %d", i)))
			p.pump()
			must(r.drain(r.server))
			if to, ok := p.clientAtServer(); ok {
				require.NoError(t, r.server.Send(to, fmt.Appendf(nil, "down %d", i)))
			}
			p.pump()
			must(r.drain(c))
			if i == 30 {
				p.rebind()
			}
			if r.now += 100 * time.Millisecond; i > 5 {
				r.now += 6 * time.Second // Over two changes of the keys.
			}
		}
		var id, up, down string
		var name string
		_, err := fmt.Sscanf(log.String(), "NETCODE_SECURE_1 %s %s %s %s", &id, &name, &up, &down)
		require.NoError(t, err)
		keys := [2][]byte{must(hex.DecodeString(up)), must(hex.DecodeString(down))}
		epochs, newest := [2]uint64{}, [2]uint64{}
		texts := [2][]string{}
		for _, d := range p.recorded {
			if d.bytes[0] != 6 || hex.EncodeToString(d.bytes[1:5]) != id {
				continue
			}
			way := 1
			if d.toServer {
				way = 0
			}
			number := newest[way]&^0xffffffff | uint64(binary.BigEndian.Uint32(d.bytes[5:9]))
			newest[way] = number
			for epochs[way] < number>>20 {
				mac := hmac.New(sha256.New, keys[way])
				mac.Write([]byte("netcode secure next key"))
				keys[way], epochs[way] = mac.Sum(nil), epochs[way]+1
			}
			var aead cipher.AEAD
			if name == "AES-256-GCM" {
				aead = must(cipher.NewGCM(must(aes.NewCipher(keys[way]))))
			} else {
				aead = must(chacha20poly1305.New(keys[way]))
			}
			nonce := binary.BigEndian.AppendUint64(make([]byte, 4), number)
			text, err := aead.Open(nil, nonce, d.bytes[9:], d.bytes[:9])
			require.NoError(t, err)
			texts[way] = append(texts[way], string(text))
		}
		require.Greater(t, len(texts[0]), 55)
		require.Equal(t, "upward 59", texts[0][len(texts[0])-1])
		require.Equal(t, "down 59", texts[1][len(texts[1])-1])
		require.Greater(t, epochs[0], uint64(1))
		require.Greater(t, epochs[1], uint64(1))
	}
	require.Empty(t, newRig(t, nil).config.KeyLog, "off by default")
}

// The fuzzer throws datagrams at a server that has a session, and at its client.
func FuzzServer(f *testing.F) {
	f.Add([]byte{kindRequest, version, 1, 2, 3, 4, 5, 6, 7, 8}, true)
	f.Add(append([]byte{kindInitiate, version}, make([]byte, 200)...), true)
	f.Add(append([]byte{kindData, 0, 0, 0, 1}, make([]byte, 40)...), true)
	f.Add(append([]byte{kindReset, 0, 0, 0, 1}, make([]byte, resetToken)...), false)
	f.Add(append([]byte{kindAccept, version}, make([]byte, acceptSize-2)...), false)
	f.Add(append([]byte{kindChallenge, version}, make([]byte, challengeSize-2)...), false)
	f.Fuzz(func(t *testing.T, packet []byte, toServer bool) {
		r := newRig(t, nil)
		c := r.dial(ClientConfig{Token: r.token(nil)})
		require.NoError(t, r.join(c))
		must(r.drain(r.server))
		stranger := must(r.network.Listen(transport.Addr{}))
		before, beforeClient := r.server.Stats().Opened, c.Stats().Opened
		if toServer {
			for _, from := range []transport.Conn{c.inner, stranger} {
				require.NoError(t, from.Send(r.at, packet))
				require.Empty(t, must(r.drain(r.server)))
			}
			size := 0
			for _, one := range must(r.drain(stranger)) {
				size += len(one.text)
			}
			require.LessOrEqual(t, size, len(packet))
		} else {
			for _, state := range []progress{idle, requesting, initiating, open} {
				if c.state = state; state == initiating {
					require.NoError(t, c.begin(r.at, r.now))
					require.NoError(t, c.initiate(make([]byte, cookieSize), r.now))
				}
				require.NoError(t, r.server.inner.Send(c.LocalAddr(), packet))
				require.Empty(t, must(r.drain(c)))
			}
		}
		require.Equal(t, before, r.server.Stats().Opened)
		require.Equal(t, beforeClient, c.Stats().Opened)
	})
}

// A token of a stranger is parsed without a panic, and never opens.
func FuzzToken(f *testing.F) {
	b := must(Issue(Key{1}, Token{User: "ada", Servers: []string{"a:1", "b:2"}, Issued: time.Unix(1000, 0), Expires: time.Unix(1060, 0), Data: []byte{1, 2}}))
	f.Add(b)
	f.Add(b[:60])
	f.Fuzz(func(t *testing.T, b []byte) {
		token, err := parseToken(b)
		servers, again := TokenServers(b)
		require.Equal(t, err, again)
		if err != nil {
			require.ErrorIs(t, err, ErrTokenMalformed)
			return
		}
		require.Len(t, servers, token.count)
		require.Equal(t, b, append(append(append([]byte(nil), token.open...), token.nonce...), token.sealed...))
		_, result := token.read(Key{2})
		require.Equal(t, refusedForged, result)
	})
}

// The window takes each number once, in any order, as a map does.
func FuzzWindow(f *testing.F) {
	f.Add([]byte{0, 1, 2, 1, 255, 255, 7})
	f.Fuzz(func(t *testing.T, steps []byte) {
		var w window
		seen := map[uint64]bool{}
		at := uint64(0)
		for i, step := range steps {
			number := at + uint64(step)*uint64(i%41)
			if step&1 == 0 {
				number = at - min(at, uint64(step)*uint64(i%9))
			}
			require.Equal(t, number, w.expand(uint32(number)))
			switch result := w.judge(number); {
			case w.next > number && w.next-number > windowSize:
				require.Equal(t, tooOld, result)
			case seen[number]:
				require.Equal(t, repeated, result)
			default:
				require.Equal(t, fine, result)
				w.add(number)
				seen[number] = true
				at = max(at, number)
			}
		}
	})
}
