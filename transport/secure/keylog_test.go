package secure

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A session is read with its key log over changes of keys and paths, also from its middle, backwards, and twice.
func TestAKeyLogOpensASession(t *testing.T) {
	for _, kind := range []Cipher{AESGCM, ChaCha20Poly1305} {
		var log bytes.Buffer
		log.WriteString("CLIENT_RANDOM of something else\n")
		r := newRig(t, func(c *Config) { c.KeyLog = &log })
		p := newProxy(r, 1)
		p.record = true
		c := r.dialOver(p.near, ClientConfig{Token: r.token(nil), Ciphers: kind, KeyLog: &log})
		for i := range 60 {
			up, down := fmt.Sprintf("upward %d", i), fmt.Sprintf("down %d", i)
			require.NoError(t, c.Send(p.front, []byte(up)))
			p.pump()
			must(r.drain(r.server))
			if to, ok := p.clientAtServer(); ok {
				require.NoError(t, r.server.Send(to, []byte(down)))
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
		whole := log.String()
		require.Equal(t, 2, strings.Count(whole, keyLogWord), "both ends wrote it")
		open := func(from, step int) (texts map[string]bool, rest map[string]int) {
			keys, err := ReadKeyLog(strings.NewReader(whole))
			require.NoError(t, err)
			texts, rest = map[string]bool{}, map[string]int{}
			for i := from; i >= 0 && i < len(p.recorded); i += step {
				for range 2 {
					text, what := keys.Open(p.recorded[i].bytes)
					if what == "" {
						texts[string(text)] = true
						continue
					}
					require.Nil(t, text)
					kind, _, _ := strings.Cut(what, " ")
					rest[kind]++
				}
			}
			return texts, rest
		}
		all, rest := open(0, 1)
		require.Greater(t, len(all), 110)
		require.Contains(t, all, "upward 59")
		require.Contains(t, all, "down 59")
		for _, kind := range []string{"Request", "Challenge", "Initiate", "Accept"} {
			require.Positive(t, rest[kind], kind)
		}
		require.Zero(t, rest["the"]+rest["session"], "all was opened")
		backwards, _ := open(len(p.recorded)-1, -1)
		require.Equal(t, all, backwards)
		middle, _ := open(len(p.recorded)/2, 1)
		require.Contains(t, middle, "down 59")
	}
}

func TestWhatIsNoKeyLogIsRefused(t *testing.T) {
	key := strings.Repeat("ab", 32)
	for name, c := range map[string]struct{ text, want string }{
		"nothing":        {"", "no key log"},
		"other lines":    {"CLIENT_RANDOM 1 2\n", "no key log"},
		"too few words":  {keyLogWord + " 00000001 AES-256-GCM " + key, "line 1"},
		"another cipher": {"\n" + keyLogWord + " 00000001 ROT13 " + key + " " + key, "line 2"},
		"a short key":    {keyLogWord + " 00000001 AES-256-GCM ab " + key, "line 1"},
		"a long number":  {keyLogWord + " 0000000001 AES-256-GCM " + key + " " + key, "line 1"},
	} {
		_, err := ReadKeyLog(strings.NewReader(c.text))
		require.ErrorIs(t, err, ErrKeyLog, name)
		require.ErrorContains(t, err, c.want, name)
		require.NotContains(t, err.Error(), key, "a key is in no error")
	}
	many := strings.Repeat(keyLogWord+" 00000001 AES-256-GCM "+key+" "+key+"\n", mostLogged+1)
	_, err := ReadKeyLog(strings.NewReader(many))
	require.ErrorContains(t, err, "more than 65536 sessions")
}

// Hostile datagrams are told in words, and none is opened without its keys.
func FuzzKeyLog(f *testing.F) {
	log := keyLogWord + " 00000001 AES-256-GCM " + strings.Repeat("ab", 32) + " " + strings.Repeat("cd", 32) + "\n"
	f.Add(log, []byte{kindData, 0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF})
	f.Add(log, append([]byte{kindData, 0, 0, 0, 1, 0x80}, make([]byte, 30)...))
	f.Add("NETCODE_SECURE_1", []byte{kindReset})
	f.Fuzz(func(t *testing.T, log string, datagram []byte) {
		keys, err := ReadKeyLog(strings.NewReader(log))
		if err != nil {
			return
		}
		if plain, what := keys.Open(datagram); plain != nil || what == "" {
			t.Fatalf("%x was opened", datagram)
		}
	})
}
