// Package load measures how many players a server can serve. Bots of the game run as clients, in one or several processes, over
// simulated bad links. A report shows the performance of server and players.
//
// The game supplies its protocol and a function that plays. Main is the whole program:
//
//	func main() {
//		os.Exit(load.Main(context.Background(), os.Args[1:], os.Stdout, os.Stderr, load.Game{
//			Protocol: newProtocol,
//			Play: func(b *load.Bot) {
//				_ = input.Set(b.Client, &Buttons{Right: b.Random.IntN(2) == 0})
//			},
//		}))
//	}
//
// Each bot is a full client with its own world and UDP socket; nothing is interpolated. Run runs bots inside a test.
//
// # Words
//
//   - ramp: bots join one after the other, Options.Ramp per second
//   - input to state: the time from the frame in which a bot acts for a tick until state of that tick or a later one arrives
//   - late: the delay at which a bot's frame starts. If it is long, the bots lack processors, not the server
//   - holds: the largest number of bots with which the 99th percentile of a tick was within Options.Bound
//
// # Files
//
//   - game.go: Game, Bot
//   - crowd.go: Run: all bots of a process
//   - link.go: a bot's bad link, in both directions
//   - histogram.go, report.go: measurements
//   - plot.go: the report as SVG
//   - server.go: asks the server's inspector for tick times
//   - main.go: Main: the command line; several processes
package load
