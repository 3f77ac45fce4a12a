// Package adversary speaks the protocol of a game rightly and then lies, so that a test shows that the game survives it.
//
//	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 3})
//	liar := adversary.NewClient(adversary.Config{Protocol: p, Conn: n.Listen(), Remote: n.Address(), Now: n.Now, Seed: 1})
//	n.Each(liar.Step)
//	require.True(t, n.RunUntil(time.Second, liar.Connected))
//	liar.AckAhead(100)
//	n.Run(time.Second)
//	require.Equal(t, 1, liar.Told("AckAhead"))
//	require.Equal(t, peer.ReasonAckOfUnsent, liar.Reason().Reason)
//
// # Words
//
//   - lie: a datagram, or a habit, that no honest end has
//   - End: one end of a connection with its lies: Client and Server have them all
//   - habit: a lie that lasts until Honest: AckNothing, AckOld, AckAll, Silence, Trickle
//   - Lie: a lie by name, for tests that try all of them: ClientLies, ServerLies, StrangerLies
//   - Stranger: sends datagrams from any address and has no connection
//
// A Client joins a server, and a Server takes one client. Both acknowledge, keep their session alive and stay legal until a method
// tells a lie. All is seeded: the same seed and the same calls give the same bytes. Each lie is counted by the name of its method;
// a test asserts by Told that it was told.
//
// # Files
//
//   - end.go, end_lies.go: what both ends of a connection do, and lie about
//   - client.go: joins a server; lies of a client alone
//   - server.go, server_lies.go: takes a client; lies of a server alone
//   - stranger.go: floods without a connection
//   - lies.go: all lies by name
package adversary
