package udp

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPauseGrowsToItsLimit(t *testing.T) {
	require.Equal(t, minPause, pause(1))
	require.Equal(t, 4*minPause, pause(3))
	require.Equal(t, maxPause, pause(8))
	require.Equal(t, maxPause, pause(1_000_000))
}

func TestRestIsCutShortByClose(t *testing.T) {
	c := &Conn{closing: make(chan struct{})}
	require.True(t, c.rest(time.Nanosecond))
	close(c.closing)
	require.False(t, c.rest(time.Hour))
}

func TestFaultOfTheReaderIsToldOnce(t *testing.T) {
	c := listen(t, "127.0.0.1:0", Config{})
	fault := errors.New("the cable smells")
	c.fault.Store(&fault)
	_, _, err := c.Receive(nil)
	require.Equal(t, fault, err)
	n, _, err := c.Receive(nil)
	require.NoError(t, err)
	require.Zero(t, n)
}
