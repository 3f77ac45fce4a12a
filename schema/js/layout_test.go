package js

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The layouts of PROTOCOL.md, section 8, have the types of what the client's codec reads.
func TestLayoutTypes(t *testing.T) {
	for layout, want := range map[string]string{
		`Text:string200;At:{X:f32;Y:f32};Tags:[..8]u8;Aim:bool?{Dir:f32axis};Kind:u8?{1:Hits:u16|2..3:Name:string9|*:};Next:bool?^1`: `{ Text: string; At: { X: number; Y: number; }; Tags: Array<number>; Aim: { Dir: number; } | null; Hits?: number; Name?: string; Kind: number; Next: any | null; }`,
		`On:bool?{A:u8|B:rune};Big:u64packed;Step:f32[0,1,0.1]`:                                                                      `{ A?: number; B?: string; On: boolean; Big: bigint; Step: number; }`,
		`List:[..4]?{X:i8;Y:[2]i16};Pose:whole{P[0]:f32;P[1]:f32}`:                                                                   `{ List: Array<{ X: number; Y: Array<number>; }>; Pose: { P: Array<number>; }; }`,
		`Kind:u8?`: `any`,
		`A:u8;...`: `any`,
	} {
		got, err := layoutType(layout)
		require.NoError(t, err, layout)
		require.Equal(t, want, got, layout)
	}
	for _, layout := range []string{`A`, `A:dance`, `A:u8|`, `A:{B:u8`, `A:u8?{1:B:u8`} {
		_, err := layoutType(layout)
		require.Error(t, err, layout)
	}
}
