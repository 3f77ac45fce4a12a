// Package load finds out how many players a server holds. A game's own bots run as many clients, in one process or several,
// behind links as bad as one likes, and a report tells how the server and the players fared.
//
// A game gives what it has: its protocol, and a function that plays. Main is the whole program:
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
// Each bot is a whole client with a world of its own and a UDP socket of its own; nothing is interpolated. Run runs them
// inside a test.
//
// # Words
//
//   - ramp: bots join one after the other, Options.Ramp a second
//   - input to state: the time from the frame in which a bot acts for a tick until the state of that tick, or of a later one, has come
//   - late: how long after its time a bot's frame began. Where that is long, the bots are short of processors, and not the server
//   - holds: the most bots with whom the 99th percentile of a tick was within Options.Bound
//
// # Files
//
//   - game.go: what a game gives; one bot
//   - crowd.go: the bots of a process
//   - link.go: a bot's bad line, in both directions
//   - histogram.go, report.go: what is measured
//   - plot.go: the report as SVG
//   - server.go: asks the server's inspector for the time of its ticks
//   - main.go: the command line; several processes
package load
