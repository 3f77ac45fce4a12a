// Package rules is the game Brawl without its drawing: an arena seen from above, two teams, a ball, two to sixteen players and bots.
// The same code runs at a dedicated server, at a host who plays, in a native client and in a browser.
//
// # Files
//
//   - protocol.go: the components, the input and the messages
//   - level.go: walls, seats, rays; levels.txt draws them
//   - sim.go: Rules: the systems of a step, and the clock of the match
//   - move.go: players and the ball
//   - guns.go: shots, and who is hit
//   - health.go: damage, death and return; pick-ups and goals
//   - brain.go: the decisions of a bot
//   - server.go: Match: who plays, the barrier between levels, chat
//   - client.go: Player: the game as one player sees it
//
// A player predicts its own avatar, its own bolts, the clock of the match, and the ball while it is near. All others are
// shown in the past, evenly: the server rewinds them for a shot of the rail.
package rules
