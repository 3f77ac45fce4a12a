package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Two lines answer T6, and every way of the scenario was verified and allocates nothing.
func TestCodecIsVerified(t *testing.T) {
	all := results(t, "-run", "codec", "-t", "10ms")
	mains := map[string]bool{}
	for _, r := range all {
		require.Equal(t, true, r.Params["verified"], r.Scenario)
		require.Equal(t, 0.0, r.Params["allocs_per_row"], r.Scenario)
		if r.Main {
			mains[r.Scenario] = true
			require.NotNil(t, r.OK)
			require.Equal(t, codecTarget, *r.Target)
			require.InDelta(t, r.Value / *r.Anchor, *r.Ratio, 1e-9)
			require.Equal(t, float64(codecBytes), r.Params["bytes_per_row"])
		}
	}
	require.Equal(t, map[string]bool{"codec.encode": true, "codec.decode": true}, mains)
}

// A way that loses one bit of one row is noticed, and is an error of the run.
func TestCodecNoticesAWrongWay(t *testing.T) {
	c := &codecRun{motion: newCodecMotion(), rows: make([]codecRow, codecRows), want: make([]byte, codecRows*codecBytes)}
	c.addHand()
	require.Len(t, c.ways, 2)
	encode, decode := c.ways[0], c.ways[1]
	right := encode.pass
	encode.pass = func() error {
		err := right()
		c.rows[999].Flags ^= 1 // what was written is no longer the row
		return err
	}
	require.NoError(t, c.round(0))
	require.Equal(t, 1, encode.wrong)
	require.Equal(t, 1, decode.wrong, "the rows were spoiled before it ran")
	encode.pass, decode.wrong = right, 0
	decodeRight := decode.pass
	decode.pass = func() error {
		c.want[codecBytes*500+44] ^= 0x80
		return decodeRight()
	}
	require.NoError(t, c.round(1))
	require.Equal(t, 1, decode.wrong)
	require.Equal(t, 1, encode.wrong)
	require.Nil(t, c.result(encode).Anchor)
}
