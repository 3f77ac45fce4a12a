package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Bots of two processes play at the server's half, and their figures add up.
func TestBotsOfTwoProcesses(t *testing.T) {
	t.Parallel()
	interruptible(t)
	server := start(t, "server", "-listen 127.0.0.1:0 -entities 20 -loss 0 -rtt 0 -jitter 0")
	address := server.wait(t, `(127\.0\.0\.1:\d+)`)[1]
	bots := start(t, "bots", "bots -addr "+address+" -n 20 -ramp 100 -processes 2 -for 1h")
	bots.wait(t, `^ *\d+ +20 +0 +- +\d+\.\d+ / \d+\.\d+ +(0\.0*[1-9]|[1-9])`) // All are there, and each has seen what it did.
	require.NoError(t, bots.cmd.Process.Signal(os.Interrupt))
	bots.wait(t, `^20 of 20 bots connected`)
	bots.wait(t, `^round trip +\d+\.\d+ / \d+\.\d+ ms`)
	bots.wait(t, `^input to state +\d*[1-9]\d*\.\d+ /`)
	bots.wait(t, `^first failure +none`)
	require.Zero(t, bots.end(t))
}

// The page of a server's half tells bots of the server's ticks, so that they can say how many players the machine holds.
func TestBotsAskTheInspector(t *testing.T) {
	t.Parallel()
	interruptible(t)
	server := start(t, "server", "-listen 127.0.0.1:0 -entities 20 -loss 0 -rtt 0 -jitter 0 -inspect 127.0.0.1:0")
	page := server.wait(t, `look inside at (http://127\.0\.0\.1:\d+/)`)[1]
	address := server.wait(t, `listening on (127\.0\.0\.1:\d+)`)[1]
	bots := start(t, "bots", "bots -addr "+address+" -n 10 -ramp 100 -for 1h -bound 1h -inspect "+page)
	bots.wait(t, `^ *\d+ +10 +0 +\d+\.\d+ / `) // All are there, and the server's ticks are known.
	require.NoError(t, bots.cmd.Process.Signal(os.Interrupt))
	bots.wait(t, `^server tick +\d+\.\d*[1-9]\d* / \d+\.\d+ ms`)
	bots.wait(t, `^this machine holds 10 players or more`)
	require.Zero(t, bots.end(t))
}
