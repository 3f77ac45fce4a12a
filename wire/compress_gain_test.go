package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// largeMessages are contents that games send in one large reliable message, 30 to 36 kB each.
func largeMessages(random *rand.Rand) map[string][]byte {
	words := strings.Fields("the gate is open push left now who has the flag go back to base medic here nice shot good game well played one more round wait for me behind the wall on my way need ammo")
	var chat strings.Builder
	for chat.Len() < 32<<10 {
		fmt.Fprintf(&chat, "[%02d:%02d] player%d: ", random.IntN(24), random.IntN(60), random.IntN(64))
		for range 3 + random.IntN(9) {
			chat.WriteString(words[random.IntN(len(words))] + " ")
		}
		chat.WriteByte('\n')
	}
	tiles := make([]byte, 180*180) // regions of one tile with single others in them
	kind := byte(0)
	for i := range tiles {
		if random.IntN(12) == 0 {
			kind = byte(random.IntN(16))
		}
		if tiles[i] = kind; i >= 180 && random.IntN(10) > 0 {
			tiles[i] = tiles[i-180]
		}
	}
	type thing struct {
		Name   string     `json:"name"`
		At     [3]float32 `json:"at"`
		Yaw    float32    `json:"yaw"`
		Health int        `json:"health"`
	}
	var things []thing
	for range 380 {
		things = append(things, thing{words[random.IntN(len(words))], [3]float32{random.Float32() * 512, 0, random.Float32() * 512}, random.Float32() * 6, random.IntN(101)})
	}
	level, _ := json.Marshal(things)
	var packed []byte // positions in 16 bits each, a kind, a health: what a Serialize method makes of the same
	var floats []byte // and as structs of floats
	for range 4000 {
		packed = binary.LittleEndian.AppendUint64(packed, random.Uint64()&0x7F0F_FFFF_FFFF_FFFF)
	}
	for range 2600 {
		for _, v := range []uint32{0x4300_0000 | random.Uint32()&0xFF_FFFF, 0, 0x4300_0000 | random.Uint32()&0xFF_FFFF} {
			floats = binary.LittleEndian.AppendUint32(floats, v)
		}
	}
	return map[string][]byte{"chat log": []byte(chat.String()), "tile map": tiles, "level as JSON": level, "packed structs": packed, "structs of floats": floats}
}

// What compression gains on large messages, for docs/adr/0029. Text and maps shrink to less than a half, what is packed already by less
// than a tenth.
func TestCompressionOfLargeMessages(t *testing.T) {
	var d Deflate
	most := map[string]float64{"chat log": 0.40, "tile map": 0.20, "level as JSON": 0.45, "packed structs": 1, "structs of floats": 0.75}
	for name, src := range largeMessages(rand.New(rand.NewPCG(1, 2))) {
		payload := AppendCompressed(nil, src, &d)
		share := float64(len(payload)) / float64(len(src))
		t.Logf("%-18s %6d bytes become %6d, %3.0f %%; packets of 1200: %2d become %2d", name, len(src), len(payload), 100*share, (len(src)+1160)/1161, (len(payload)+1160)/1161)
		require.Less(t, share, most[name]+0.001, name)
		if name == "packed structs" {
			require.Greater(t, share, 0.85)
		}
		got, err := AppendDecompressed(nil, payload, len(src), &d)
		require.NoError(t, err)
		require.Equal(t, src, got)
	}
	small := []byte(`{"name":"gate","at":[12.5,0,99.25],"health":80}`)
	require.Greater(t, len(AppendCompressed(nil, small, &d)), len(small)*9/10, "a small message gains nothing")
}
