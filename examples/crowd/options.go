package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/internal/usage"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/secure"
)

// reordered is the share of datagrams that later ones overtake, unless the link has no delay at all.
const reordered = 0.02

// options are the flags of one run.
type options struct {
	clients  int
	entities int
	churn    int // spawns and despawns per second
	interest bool
	seconds  float64 // 0: until interrupted
	hz       int
	loss     float64 // percent
	rtt      time.Duration
	jitter   time.Duration
	seed     uint64
	budget   int
	silence  time.Duration
	trace    string
	json     bool
	listen   string
	connect  string
	sabotage bool
	bits     bool
	record   string
	tables   string
	inspect  string
	key      secure.Key // Zero: in clear.
	keyLog   string

	trained *delta.Tables // what tables named
}

// parseOptions reads the command line. Usage and complaints go to out.
func parseOptions(args []string, out io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("crowd", flag.ContinueOnError)
	f.SetOutput(out)
	f.IntVar(&o.clients, "clients", 8, "client worlds in this process")
	f.IntVar(&o.entities, "entities", 1000, "moving bodies")
	f.Float64Var(&o.seconds, "seconds", 10, "seconds of motion; with -listen and without this flag: until Ctrl-C; with -connect the server decides")
	f.IntVar(&o.churn, "churn", 4, "spawns and despawns per second, together, half of each")
	f.BoolVar(&o.interest, "interest", false, "let each client see only what is near its seat")
	f.IntVar(&o.hz, "hz", 30, "network ticks per second; a recording sets its own")
	o.loss, o.rtt, o.jitter = 5, 80*time.Millisecond, 10*time.Millisecond
	f.Func("loss", "`percent` of the packets lost, each way; 5, 5% and 0.05 are the same (default 5)", percent(&o.loss))
	f.Func("rtt", "round trip `time` of the simulated link, half of it each way (default 80ms); the rtt that is printed has the other end's wait for its next tick in it, and what jitter and loss add", milliseconds(&o.rtt))
	f.Func("jitter", "jitter of the simulated link, a `time` (default 10ms)", milliseconds(&o.jitter))
	f.Uint64Var(&o.seed, "seed", 1, "seed of the motion and of the link")
	f.IntVar(&o.budget, "budget", -1, "bytes per second the server sends to one client; 0: the default of netcode.Config; below 0: unlimited")
	f.Func("silence", "silence after which the other end is dropped; a `time` (default: that of netcode.Config)", milliseconds(&o.silence))
	f.StringVar(&o.trace, "trace", "", "replay recorded motion from this `file` instead of the simulation")
	f.BoolVar(&o.json, "json", false, "print one JSON object at the end; everything else goes to stderr")
	f.StringVar(&o.listen, "listen", "", "run only the server, at this `address`")
	f.StringVar(&o.connect, "connect", "", "run only the clients, against the server at this `address`")
	f.Func("key", "encrypt with transport/secure: the secret `key` of both halves, 64 hexadecimal digits; the clients make their tokens with it", func(text string) (err error) {
		o.key, err = secure.ParseKey(text)
		return err
	})
	f.StringVar(&o.keyLog, "keylog", "", "append the keys of each session to this `file`, for tap: who has it reads them; with -key, at the server")
	f.BoolVar(&o.bits, "bits", false, "at the end, say where the bits to the first client went, as a table and in -json")
	f.StringVar(&o.record, "record", "", "write a recording of the server's world to this `file`, to learn tables from: go run ./cmd/netcode train -o TABLES FILE")
	f.StringVar(&o.tables, "tables", "", "use the tables in this `file`, which netcode train has written, on both halves")
	f.StringVar(&o.inspect, "inspect", "", "show the server, or with -connect the first client, in a browser, at this `address` of this machine, as 127.0.0.1:6060")
	f.BoolVar(&o.sabotage, "sabotage", false, "change one value in one client's world just before it is compared")
	f.Usage = func() {
		_, _ = fmt.Fprint(out, "Usage of crowd: exits with 0 if every client's world equals the server's at the end, 1 if not, 2 for a wrong flag.\n"+
			"In two processes the clients' half, -connect, judges: it is sent digests of the server's world, compares, and exits by that.\n"+
			"The server's half, -listen, exits by what its clients report.\n")
		f.PrintDefaults()
	}
	err := usage.Parse(f, args, takes())
	if errors.Is(err, flag.ErrHelp) {
		return o, err
	}
	if err == nil {
		err = o.check()
	}
	given := map[string]bool{}
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if err == nil {
		err = o.checkHalf(given)
	}
	if err == nil && given["churn"] && o.trace != "" {
		err = errors.New("-churn belongs to the simulation: a recording has its own")
	}
	if err != nil {
		_, _ = fmt.Fprintln(out, "crowd:", err)
	}
	if o.listen != "" && !given["seconds"] {
		o.seconds = 0
	}
	return o, err
}

// takes describes the values of the flags.
func takes() usage.Takes {
	length := "a time from 0 to an hour: 80ms, 1.5s, or a plain number of milliseconds"
	return usage.Takes{
		"clients": "a whole number from 1 to 1024", "entities": "a whole number from 1 to 60000", "churn": "a whole number from 0 to 100000",
		"seconds": "a number above 0 and below 1000000", "hz": "a whole number from 1 to 1000",
		"loss": "in percent, from 0 to 100: 5, 5% or 0.05", "rtt": length, "jitter": length, "silence": length,
		"seed": "a whole number from 0 to 18446744073709551615", "budget": "a whole number of bytes per second, 0 or below 0",
		"trace": "a file", "record": "a file to write", "tables": "a file", "inspect": "an address, as 127.0.0.1:6060", "listen": "an address, as 127.0.0.1:9000", "connect": "an address, as 127.0.0.1:9000",
	}
}

func (o *options) check() error {
	t := takes()
	switch {
	case o.clients < 1 || o.clients > 1024:
		return t.Wrong("clients", o.clients)
	case o.entities < 1 || o.entities > 60_000:
		return t.Wrong("entities", o.entities)
	case o.churn < 0 || o.churn > 100_000:
		return t.Wrong("churn", o.churn)
	case !(o.seconds > 0 && o.seconds < 1e6):
		return t.Wrong("seconds", o.seconds)
	case o.hz < 1 || o.hz > 1000:
		return t.Wrong("hz", o.hz)
	case !(o.loss >= 0 && o.loss <= 100):
		return t.Wrong("loss", o.loss)
	case o.rtt < 0 || o.rtt > time.Hour:
		return t.Wrong("rtt", o.rtt)
	case o.jitter < 0 || o.jitter > time.Hour:
		return t.Wrong("jitter", o.jitter)
	case o.silence < 0 || o.silence > time.Hour:
		return t.Wrong("silence", o.silence)
	case o.listen != "" && o.connect != "":
		return errors.New("-listen and -connect are two halves: two processes")
	case o.connect != "" && (o.trace != "" || o.interest || o.record != ""):
		return errors.New("-trace, -interest and -record belong to the server's half")
	case o.bits && (o.listen != "" || o.connect != ""):
		return errors.New("-bits needs both halves in one process")
	case o.sabotage && o.listen != "":
		return errors.New("-sabotage changes a client's world: give it to the clients' half")
	}
	return nil
}

// checkHalf refuses flags that the half which is run would ignore.
func (o *options) checkHalf(given map[string]bool) error {
	if o.listen != "" && given["clients"] {
		return errors.New("-clients belongs to the clients' half: give it with -connect")
	}
	if o.connect == "" {
		return nil
	}
	for _, name := range []string{"entities", "churn", "budget"} {
		if given[name] {
			return fmt.Errorf("-%s belongs to the server's half: give it with -listen", name)
		}
	}
	return nil
}

// motionTime returns the time for which the bodies move.
func (o *options) motionTime() time.Duration {
	if o.seconds == 0 {
		return math.MaxInt64
	}
	return time.Duration(o.seconds * float64(time.Second))
}

// longestSettling bounds settleTime where next to nothing arrives.
const longestSettling = 2 * time.Minute

// settleTime is the longest time after the end of motion until the clients' worlds equal the server's: the time after faults
// that are over and, since the loss continues here, the time in which the last packets may have to be sent again.
func (o *options) settleTime() time.Duration {
	over := 2*time.Second + 4*o.rtt
	if again := o.tries() * o.try(); again < (longestSettling - over).Seconds() {
		return over + time.Duration(again*float64(time.Second))
	}
	return max(over, longestSettling)
}

// tries is the number of times that each of the last packets is sent until all of them have arrived, but for one run in a million.
func (o *options) tries() float64 {
	const odds, packets = 1e-6, 16 // of the last ticks, to each client
	switch p := o.loss / 100; p {
	case 0:
		return 0
	case 1:
		return math.Inf(1)
	default:
		return math.Ceil(math.Log(odds/float64(packets*o.clients)) / math.Log(p))
	}
}

// try is the time in seconds until a packet is presumed lost and sent again (rule 8 of docs/design.md), by a round trip as the server measures it: with the wait
// for the next tick on both sides, the jitter of both ways, and the acknowledgements that are lost.
func (o *options) try() float64 {
	interval := time.Second / time.Duration(o.hz)
	trip := o.rtt + 2*o.jitter + 2*interval
	return (trip + trip/4 + o.jitter + interval).Seconds() / (1 - o.loss/100)
}

// allowance is the number of ticks that the newest tick of a client in step may be behind: the round trip, the jitter of both
// ways, and three ticks for the frames on both sides and a lost packet.
func (o *options) allowance(interval time.Duration) int {
	rate := time.Second / interval // whole: the interval was rounded
	return int(((o.rtt+2*o.jitter)*rate+time.Second-1)/time.Second) + 3
}

// timeouts are the silence that ends a connection, and a keep-alive that leaves room for lost packets in it. Zeros are
// the defaults of netcode.Config.
func (o *options) timeouts() (silence, keepAlive time.Duration) {
	if o.silence == 0 {
		return 0, 0
	}
	return o.silence, min(time.Second, o.silence/4)
}

// link is the link through which each end receives: half of the round trip, and some datagrams overtaken by later ones.
func (o *options) link() transport.Link {
	link := transport.Link{Delay: o.rtt / 2, Jitter: o.jitter, Loss: o.loss / 100}
	if o.rtt > 0 {
		link.Reorder = reordered
	}
	return link
}

// percent reads 5, 5% and 0.05 alike: a plain number below 1 is a part of 1, since that is what its writer meant.
func percent(to *float64) func(string) error {
	return func(s string) (err error) {
		number, isPercent := strings.CutSuffix(s, "%")
		*to, err = strconv.ParseFloat(number, 64)
		if !isPercent && *to > 0 && *to < 1 {
			*to *= 100
		}
		return err
	}
}

// milliseconds reads a duration with its unit, or a plain number of milliseconds: 80ms and 80 are the same.
func milliseconds(to *time.Duration) func(string) error {
	return func(s string) (err error) {
		if _, number := strconv.ParseFloat(s, 64); number == nil {
			s += "ms"
		}
		*to, err = time.ParseDuration(s)
		return err
	}
}
