package webtransport

import (
	"bufio"
	"context"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/quic-go/quic-go/quicvarint"
	"github.com/stretchr/testify/require"
)

// The settings of a server, by their numbers on the wire. Safari 26.4 and newer connects to no server that lacks one of the last four.
const (
	settingConnect     = 0x8        // SETTINGS_ENABLE_CONNECT_PROTOCOL
	settingDatagram    = 0x33       // SETTINGS_H3_DATAGRAM
	settingMaxSessions = 0x14e9cd29 // SETTINGS_WT_MAX_SESSIONS
	settingData        = 0x2b61     // SETTINGS_WT_INITIAL_MAX_DATA
	settingUni         = 0x2b64     // SETTINGS_WT_INITIAL_MAX_STREAMS_UNI
	settingBidi        = 0x2b65     // SETTINGS_WT_INITIAL_MAX_STREAMS_BIDI
)

// readSettings reads the SETTINGS frame of a server's control stream: a stream of type 0, a frame of type 4, and pairs of varints.
func readSettings(t *testing.T, conn *quic.Conn) map[uint64]uint64 {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	stream, err := conn.AcceptUniStream(ctx)
	require.NoError(t, err)
	r := bufio.NewReader(stream)
	next := func() uint64 {
		v, err := quicvarint.Read(r)
		require.NoError(t, err)
		return v
	}
	require.EqualValues(t, 0, next(), "the control stream is the first one")
	require.EqualValues(t, 4, next(), "SETTINGS is its first frame")
	settings := map[uint64]uint64{}
	for left := int(next()); left > 0; {
		id, value := next(), next()
		settings[id] = value
		left -= quicvarint.Len(id) + quicvarint.Len(value)
	}
	return settings
}

func TestTheSettingsThatSafariNeedsAreSent(t *testing.T) {
	s, _, pin := listen(t, Config{})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tls := http3.ConfigureTLSConfig(pin)
	conn, err := quic.DialAddr(ctx, s.LocalAddr().String(), tls, &quic.Config{EnableDatagrams: true, EnableStreamResetPartialDelivery: true})
	require.NoError(t, err)
	defer func() { _ = conn.CloseWithError(0, "") }()
	settings := readSettings(t, conn)
	for _, id := range []uint64{settingConnect, settingDatagram, settingMaxSessions, settingData, settingUni, settingBidi} {
		require.Positive(t, settings[id], "%#x of %v", id, settings)
	}
}
