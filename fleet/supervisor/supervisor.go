package supervisor

import (
	"cmp"
	"context"
	_ "embed" // For page.
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/arche-netcode/netcode/transport/secure"
)

// page is the whole page: it loads nothing else.
//
//go:embed page.html
var page string

// Config has the settings of a Supervisor. Command is required; zero values of others mean the defaults.
type Config struct {
	Command []string // The program and its arguments. One with a path, as ./game, is copied first, and watched for a new build.
	Servers int      // Processes; default 1, at most MaxServers.
	Listen  string   // The first UDP address of the servers; default 127.0.0.1:9000. They use Servers+1 ports from there on. Port 0: any.
	Public  string   // The host for players in connect tokens; default: that of Listen.
	Matches int      // Matches of one server at a time; default 64.

	Token   time.Duration // Life of a connect token; default 1 min.
	Start   time.Duration // A process that is not ready in this time is killed; default 30 s.
	Health  time.Duration // A process whose ticks stand still for this time is killed; default 10 s.
	Drain   time.Duration // A process that drains for longer is killed; default 2 min. Let it be no shorter than fleet.Config.Drain.
	Restart time.Duration // Pause before the restart of a process that failed; twice as long for each failure after another; default 200 ms.
	Poll    time.Duration // Time between two looks at the program's file; default 1 s; below 0: never.

	// Bearer is the key that a backend sends as "Authorization: Bearer ..."; at least 16 bytes. Empty: requests come from this machine only.
	Bearer   string
	Requests int // Requests a second of one host, IPv4 address or IPv6 /64; default 500. Of its network four times as many. This machine is exempt.

	Out    io.Writer    // Lines that the servers print, with their names; default: os.Stdout.
	Logger *slog.Logger // Default: slog.Default.
}

const (
	// MaxServers bounds Config.Servers.
	MaxServers = 256
	// defaultRequests is the default of Config.Requests.
	defaultRequests = 500
	// maxPublic bounds Config.Public: an address of secure.Token has 64 bytes, with brackets and port.
	maxPublic = 64 - len("[]:65535")
	// minBearer is the minimum size of Config.Bearer in bytes.
	minBearer = 16
	// lastRestart bounds the pause before a restart.
	lastRestart = 30 * time.Second
	// stepTime is the time between two looks at all processes.
	stepTime = 50 * time.Millisecond
)

func (c Config) withDefaults() (Config, error) {
	c.Token, c.Start, c.Health = cmp.Or(c.Token, time.Minute), cmp.Or(c.Start, 30*time.Second), cmp.Or(c.Health, 10*time.Second)
	c.Drain, c.Restart, c.Poll = cmp.Or(c.Drain, 2*time.Minute), cmp.Or(c.Restart, 200*time.Millisecond), cmp.Or(c.Poll, time.Second)
	c.Servers, c.Matches, c.Listen = cmp.Or(c.Servers, 1), cmp.Or(c.Matches, 64), cmp.Or(c.Listen, "127.0.0.1:9000")
	if c.Out == nil {
		c.Out = os.Stdout
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	switch {
	case len(c.Command) == 0:
		return c, errors.New("supervisor: Config.Command is empty: give the program of the game")
	case c.Servers < 1 || c.Servers > MaxServers:
		return c, fmt.Errorf("supervisor: %d servers: 1 to %d", c.Servers, MaxServers)
	case c.Matches < 1:
		return c, fmt.Errorf("supervisor: %d matches of a server: 1 or more", c.Matches)
	}
	return c, nil
}

// Supervisor runs servers and allocates matches to them. Any goroutine may use it.
type Supervisor struct {
	config Config
	ip     net.IP
	port   int // The first one; 0: any.
	links  net.Listener
	folder string // For copies of the program; empty: it is not copied.
	wake   chan struct{}
	shared secure.Key // For all processes.
	front  *Front
	out    sync.Mutex // Guards Config.Out.

	mu        sync.Mutex // Guards the rest.
	processes []*process // In the order of their starts.
	bySecret  map[string]*process
	seats     []seat
	serial    int
	nextPort  int    // Of Servers+1, counted from port.
	build     *build // The one for restarts.
	rollout   rollout
	matches   map[string]*match
	stopping  bool
	counts    counts
	news      []string // The newest lines for the page.
}

// seat is one of Config.Servers places.
type seat struct {
	process *process // Nil: it waits for its restart.
	retry   time.Time
	pause   time.Duration
}

// counts has the counters for metrics.
type counts struct {
	starts, crashes, killed, matches, tokens, moves uint64
	noRoom, rollouts, rejected                      uint64
}

// New returns a supervisor that runs nothing yet. It opens the loopback address at which processes reach it.
func New(config Config) (*Supervisor, error) {
	c, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	at, err := net.ResolveUDPAddr("udp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("supervisor: Config.Listen: %w", err)
	}
	if c.Public == "" {
		if c.Public = at.IP.String(); at.IP == nil || at.IP.IsUnspecified() {
			return nil, fmt.Errorf("supervisor: servers listen at %s: give Config.Public (-public), the host that players connect to", c.Listen)
		}
	}
	if len(c.Public) > maxPublic {
		return nil, fmt.Errorf("supervisor: Config.Public has %d bytes, at most %d", len(c.Public), maxPublic)
	}
	if at.Port+c.Servers > 65535 {
		return nil, fmt.Errorf("supervisor: %d servers from port %d on: there are 65535 ports", c.Servers, at.Port)
	}
	s := &Supervisor{
		config: c, ip: at.IP, port: at.Port, wake: make(chan struct{}, 1),
		bySecret: map[string]*process{}, seats: make([]seat, c.Servers), nextPort: c.Servers, matches: map[string]*match{},
	}
	if s.front, err = NewFront(c.Bearer, c.Requests, func(_ context.Context, r Request) (Answer, error) { return s.Allocate(r) }); err != nil {
		return nil, err
	}
	s.front.log = c.Logger
	if strings.ContainsRune(c.Command[0], filepath.Separator) || strings.ContainsRune(c.Command[0], '/') {
		if s.folder, err = os.MkdirTemp("", "netcode-fleet-"); err != nil {
			return nil, err
		}
	}
	if s.shared, err = secure.NewKey(); err != nil {
		return nil, errors.Join(err, s.cleanUp())
	}
	if s.build, err = s.readBuild(); err != nil {
		return nil, errors.Join(err, s.cleanUp())
	}
	if s.links, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, errors.Join(err, s.cleanUp())
	}
	return s, nil
}

// Close frees what New took, of a supervisor that does not Run.
func (s *Supervisor) Close() error { return errors.Join(s.links.Close(), s.cleanUp()) }

func (s *Supervisor) cleanUp() error {
	if s.folder == "" {
		return nil
	}
	return os.RemoveAll(s.folder)
}

// Run runs the servers until ctx is done. Then all of them drain, and it returns when they have ended.
func (s *Supervisor) Run(ctx context.Context) error {
	server := &http.Server{Handler: http.HandlerFunc(s.serveLink), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(s.links) }() // It ends with Close.
	timer := time.NewTicker(stepTime)
	defer timer.Stop()
	done := ctx.Done()
	for {
		select {
		case <-done:
			done = nil
			s.stop()
		case <-timer.C:
		case <-s.wake:
		}
		if s.step(time.Now()) {
			return errors.Join(server.Close(), s.cleanUp())
		}
	}
}

// stop lets all processes drain.
func (s *Supervisor) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
	s.note("the fleet drains")
	for _, p := range s.processes {
		p.startDrain(time.Now())
	}
}

// poke lets Run look at all processes now.
func (s *Supervisor) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// note logs a line and keeps it for the page.
func (s *Supervisor) note(format string, values ...any) {
	const kept = 100
	line := fmt.Sprintf(format, values...)
	s.config.Logger.Info("fleet: " + line)
	s.news = append(s.news, time.Now().Format(time.TimeOnly)+" "+line)
	s.news = s.news[max(0, len(s.news)-kept):]
}

// freePort returns a port that no process uses, 0 if there is none.
func (s *Supervisor) freePort() int {
	if s.port == 0 {
		c, err := net.ListenUDP("udp", &net.UDPAddr{IP: s.ip})
		if err != nil {
			return 0
		}
		defer c.Close()
		return c.LocalAddr().(*net.UDPAddr).Port
	}
	used := map[int]bool{}
	for _, p := range s.processes {
		used[p.port] = true
	}
	for range s.config.Servers + 1 { // The next one first: the last one may be taken by another program.
		s.nextPort = (s.nextPort + 1) % (s.config.Servers + 1)
		if port := s.port + s.nextPort; !used[port] {
			return port
		}
	}
	return 0
}

// urlOf returns the URL of the supervisor for a process.
func (s *Supervisor) urlOf(secret string) string {
	return "http://" + s.links.Addr().String() + "/" + secret
}

func (s *Supervisor) addressOf(host string, port int) string {
	return net.JoinHostPort(host, strconv.Itoa(port))
}
