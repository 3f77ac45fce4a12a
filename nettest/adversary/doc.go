// Package adversary implements clients and servers that speak a game's protocol and lie on command, so that a test can show that
// the game survives them.
//
//	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 3})
//	liar := adversary.NewClient(adversary.Config{Protocol: p, Conn: n.Listen(), Remote: n.Address(), Now: n.Now, Seed: 1})
//	n.Each(liar.Step)
//	require.True(t, n.RunUntil(time.Second, liar.Connected))
//	liar.AckAhead(100)
//	n.Run(time.Second)
//	require.Equal(t, 1, liar.Told("AckAhead"))
//	require.Equal(t, errs.ReasonAckOfUnsent, liar.Reason().Reason)
//
// # Words
//
//   - lie: a datagram, or a behaviour, that no honest end has
//   - End: one end of a connection with the lies that both Client and Server can tell
//   - habit: a lie that lasts until Honest: AckNothing, AckOld, AckAll, Silence, Trickle
//   - Lie: a lie by name, for tests that try all: ClientLies, ServerLies, StrangerLies
//   - Stranger: sends datagrams from any address without a connection
//
// A Client joins a server; a Server accepts one client. Both acknowledge packets, keep their session alive and follow the
// protocol until a method tells a lie. Everything is seeded: the same seed and the same calls produce the same bytes. Each lie is
// counted under the name of its method, and a test asserts with Told that it was told.
//
// # Files
//
//   - end.go, end_lies.go: behaviour and lies of both ends of a connection
//   - client.go: Client: joins a server; lies of clients only
//   - server.go, server_lies.go: Server: accepts a client; lies of servers only
//   - stranger.go: Stranger: floods without a connection
//   - lies.go: all lies by name
package adversary
