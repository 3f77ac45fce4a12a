package protocolpage_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

// TestProtocolTextAgreesOnFaults reads the snapshots of the golden session with damaged bits: where the reader written from
// PROTOCOL.md finds them malformed or lacking, this implementation does so too.
func TestProtocolTextAgreesOnFaults(t *testing.T) {
	schema := goldenProtocol().Schema()
	replicas, asked, faults := map[*observed]*replica.Replica{}, map[*observed]uint16{}, map[string]int{}
	tried := func(o *observed, payload []byte) {
		ours := replicas[o]
		if ours == nil {
			ours = replica.New(schema, snapshot.Config{Window: tick.Tick(o.window)}, tick.Tick(o.newest))
			replicas[o], o.longer = ours, 4 // as this implementation does
		}
		if asked[o] != o.asked {
			asked[o] = o.asked
			ours.Lose()
		}
		first, damaged := 17, append([]byte{}, payload...)
		if payload[2]&1 != 0 {
			first += 16 // the epoch of a resync: each end counts its own
		}
		step := 1 + len(payload)/20
		for bit := first; bit < 8*len(damaged); bit += step {
			damaged[bit/8] ^= 1 << (bit % 8)
			if fault := faultOf(o, damaged); fault != "" {
				err := ours.Read(damaged)
				if errors.Is(err, replica.ErrTooMany) {
					fault = "too many"
				}
				want := map[string]error{"malformed": replica.ErrMalformed, "lacking": replica.ErrBaseline, "too many": replica.ErrTooMany}[fault]
				require.ErrorIs(t, err, want, "bit %d of %x", bit, payload)
				faults[fault]++
			}
			damaged[bit/8] ^= 1 << (bit % 8)
		}
		err := ours.Read(payload)
		require.Equal(t, faultOf(o, payload) == "lacking", errors.Is(err, replica.ErrBaseline))
	}
	_, _ = decodeSession(t, recallRows, func(r *reader, datagram []byte, fromServer bool) (string, error) {
		r.tried = tried
		return r.read(datagram, fromServer)
	})
	require.Greater(t, faults["malformed"], 1000)
	require.Greater(t, faults["lacking"], 100)
}

// faultOf is the fault of a payload to the reader, "" if it decodes it.
func faultOf(o *observed, payload []byte) (fault string) {
	defer func() {
		switch why := recover().(type) {
		case nil:
		case illegal:
			fault = "malformed"
		case lacking:
			fault = "lacking"
		default:
			panic(why)
		}
	}()
	o.decode(payload)
	return ""
}
