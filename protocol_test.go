package netcode_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/rig"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

func TestHashDoesNotDependOnTheOrderOfRegistration(t *testing.T) {
	one := netcode.NewProtocol()
	netcode.Replicate[position](one)
	netcode.Replicate[health](one)
	netcode.Handle[chat](one, nil)
	netcode.Handle[wave](one, nil)
	other := netcode.NewProtocol()
	netcode.Handle[wave](other, nil, netcode.AtStage(tick.PreUpdate))
	netcode.Handle[chat](other, nil)
	netcode.Replicate[health](other)
	netcode.Replicate[position](other)
	require.Equal(t, one.Hash(), other.Hash())
	require.Equal(t, "health", other.Schema().Plan(0).Name())
	require.Equal(t, "position", other.Schema().Plan(1).Name())
}

func TestHashTellsEveryDifference(t *testing.T) {
	variants := map[string]func(p *netcode.Protocol){
		"nothing":            func(p *netcode.Protocol) {},
		"component":          func(p *netcode.Protocol) { netcode.Replicate[position](p) },
		"another name":       func(p *netcode.Protocol) { netcode.Replicate[position](p, netcode.Named("place")) },
		"another component":  func(p *netcode.Protocol) { netcode.Replicate[health](p) },
		"message":            func(p *netcode.Protocol) { netcode.Handle[position](p, nil) },
		"another field type": func(p *netcode.Protocol) { netcode.Replicate[wide](p, netcode.Named("position")) },
		"another field name": func(p *netcode.Protocol) { netcode.Replicate[renamed](p, netcode.Named("position")) },
		"another order":      func(p *netcode.Protocol) { netcode.Replicate[swapped](p, netcode.Named("position")) },
		"another step":       func(p *netcode.Protocol) { netcode.Replicate[stepped](p, netcode.Named("position")) },
		"a finer step":       func(p *netcode.Protocol) { netcode.Replicate[finer](p, netcode.Named("position")) },
	}
	seen := map[uint64]string{}
	for name, register := range variants {
		p := netcode.NewProtocol()
		register(p)
		require.Empty(t, seen[p.Hash()], name)
		seen[p.Hash()] = name
	}
}

type wave struct{}

type wide struct{ X, Y float64 }

type renamed struct{ X, Z float32 }

type swapped struct{ Y, X float32 }

type stepped struct {
	X float32 `net:"min=-512,max=512,step=0.002"`
	Y float32
}

type finer struct {
	X float32 `net:"min=-512,max=512,step=0.001"`
	Y float32
}

type pointing struct {
	Inner struct{ Target *int }
}

func TestRegistrationPanicsNamingTypeAndField(t *testing.T) {
	handler := func(*message.Context, *chat) {}
	panics := map[string]struct {
		register func(p *netcode.Protocol)
		want     []string
	}{
		"not blittable":    {func(p *netcode.Protocol) { netcode.Replicate[pointing](p) }, []string{"Replicate", "pointing", "Inner.Target"}},
		"message likewise": {func(p *netcode.Protocol) { netcode.Handle[pointing](p, nil) }, []string{"Handle", "pointing", "Inner.Target"}},
		"type twice": {func(p *netcode.Protocol) {
			netcode.Replicate[health](p)
			netcode.Replicate[health](p, netcode.Named("h"))
		}, []string{"health", "registered already"}},
		"name twice": {func(p *netcode.Protocol) {
			netcode.Replicate[health](p)
			netcode.Replicate[position](p, netcode.Named("health"))
		}, []string{"position", "health", "taken"}},
		"message twice": {func(p *netcode.Protocol) { netcode.Handle(p, handler); netcode.Handle(p, handler) }, []string{"chat", "registered already"}},
		"message name": {func(p *netcode.Protocol) {
			netcode.Handle(p, handler)
			netcode.Handle[wave](p, nil, netcode.Named("chat"))
		}, []string{"wave", "chat", "taken"}},
		"bad name":          {func(p *netcode.Protocol) { netcode.Replicate[health](p, netcode.Named("a;b")) }, []string{"health", "a;b"}},
		"no name":           {func(p *netcode.Protocol) { netcode.Replicate[struct{ A int8 }](p) }, []string{"struct", "Named"}},
		"stage":             {func(p *netcode.Protocol) { netcode.Handle(p, handler, netcode.AtStage(99)) }, []string{"chat", "no stage"}},
		"stage of state":    {func(p *netcode.Protocol) { netcode.Replicate[health](p, netcode.AtStage(1)) }, []string{"health", "AtStage"}},
		"frozen":            {func(p *netcode.Protocol) { p.Hash(); netcode.Replicate[health](p) }, []string{"health", "frozen"}},
		"frozen, message":   {func(p *netcode.Protocol) { p.Schema(); netcode.Handle(p, handler) }, []string{"chat", "frozen"}},
		"netcode's own":     {func(p *netcode.Protocol) { netcode.Replicate[components.Replicated](p) }, []string{"Replicated"}},
		"larger than large": {func(p *netcode.Protocol) { netcode.Handle[[9000]byte](p, nil, netcode.Named("huge")) }, []string{"9000"}},
	}
	for name, c := range panics {
		t.Run(name, func(t *testing.T) {
			var got any
			func() {
				defer func() { got = recover() }()
				c.register(netcode.NewProtocol())
			}()
			require.NotNil(t, got)
			for _, part := range c.want {
				require.Contains(t, got, part)
			}
		})
	}
}

func TestWrongProtocolNamesTheFirstDifference(t *testing.T) {
	base := func(p *netcode.Protocol) {
		netcode.Replicate[health](p)
		netcode.Replicate[position](p)
		netcode.Handle[chat](p, nil)
	}
	cases := map[string]struct {
		client func(p *netcode.Protocol)
		want   string // What the client is told.
		logged string // What the server logs.
	}{
		"field type": {func(p *netcode.Protocol) {
			netcode.Replicate[health](p)
			netcode.Replicate[wide](p, netcode.Named("position"))
			netcode.Handle[chat](p, nil)
		}, `component "position" differs: the server has the field X:`, `component \"position\" differs, or the client does not have it: here it is component position{X:f32;Y:f32}`},
		"field name": {func(p *netcode.Protocol) {
			netcode.Replicate[health](p)
			netcode.Replicate[renamed](p, netcode.Named("position"))
			netcode.Handle[chat](p, nil)
		}, `component "position" differs: the server has the field Y:`, `component \"position\" differs, or the client does not have it: here it is component position{X:f32;Y:f32}`},
		"quantisation": {func(p *netcode.Protocol) {
			netcode.Replicate[health](p)
			netcode.Replicate[stepped](p, netcode.Named("position"))
			netcode.Handle[chat](p, nil)
		}, `component "position" differs: the server has the field X:`, `component \"position\" differs, or the client does not have it`},
		"field more": {func(p *netcode.Protocol) {
			netcode.Replicate[health](p)
			netcode.Replicate[struct{ X, Y, Z float32 }](p, netcode.Named("position"))
			netcode.Handle[chat](p, nil)
		}, `component "position" differs: the client has the field Z:`, `component \"position\" differs, or the client does not have it`},
		"component missing at the client": {func(p *netcode.Protocol) {
			netcode.Replicate[position](p)
			netcode.Handle[chat](p, nil)
		}, `the client does not have component "health"`, `the client does not have component \"health\"`},
		"last component missing at the client": {func(p *netcode.Protocol) {
			netcode.Replicate[health](p)
			netcode.Handle[chat](p, nil)
		}, `the client does not have component "position"`, `the client does not have component \"position\"`},
		"component missing at the server": {func(p *netcode.Protocol) {
			base(p)
			netcode.Replicate[wide](p, netcode.Named("ammunition"))
		}, `the server does not have component "ammunition"`, `the client registered a type that the server did not: in the order of kinds and wire names it comes just before component \"health\"`},
		"message missing at the client": {func(p *netcode.Protocol) {
			netcode.Replicate[health](p)
			netcode.Replicate[position](p)
		}, `the client does not have message "chat"`, `the client does not have message \"chat\"`},
		"message missing at the server": {func(p *netcode.Protocol) {
			base(p)
			netcode.Handle[wave](p, nil)
		}, `the server does not have message "wave"`, `the client has 5 entries and the server 4: those behind message \"chat\" are not here`},
		"message fields": {func(p *netcode.Protocol) {
			netcode.Replicate[health](p)
			netcode.Replicate[position](p)
			netcode.Handle[position](p, nil, netcode.Named("chat"))
		}, `message "chat" differs: the server has the field Number:`, `message \"chat\" differs, or the client does not have it`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			server, client := netcode.NewProtocol(), netcode.NewProtocol()
			base(server)
			c.client(client)
			var out bytes.Buffer
			r := rig.New(t, server, netcode.Config{Logger: slog.New(slog.NewTextHandler(&out, nil))})
			end := r.Join(client, netcode.Config{})
			r.Until(func() bool { return end.State() == netcode.Disconnected })
			require.ErrorIs(t, end.Err(), errs.ReasonWrongProtocol)
			require.Contains(t, end.Err().Detail, c.want)
			require.Contains(t, out.String(), `difference="`+c.logged)
			require.Empty(t, r.Server.Log)
			require.EqualValues(t, 1, r.Server.Stats().RefusedProtocol)
			require.EqualValues(t, 1, end.Stats().RefusedProtocol)
		})
	}
}

// A server says whom it refuses for another protocol, with all that is needed to find out why, and not more than once a second.
func TestRefusedProtocolsAreLogged(t *testing.T) {
	var out bytes.Buffer
	r := rig.New(t, protocol(), netcode.Config{Logger: slog.New(slog.NewTextHandler(&out, nil))})
	other := netcode.NewProtocol()
	netcode.Replicate[health](other)
	join := func(n int) {
		for range n {
			r.Join(other, netcode.Config{})
		}
		r.Until(func() bool { return r.Clients[len(r.Clients)-1].State() == netcode.Disconnected })
	}
	join(3)
	require.Equal(t, 1, strings.Count(out.String(), "client refused"), out.String())
	for _, what := range []string{r.Clients[0].Conn.LocalAddr().String(), fmt.Sprintf("%016x", r.Server.Protocol().Hash()), fmt.Sprintf("%016x", other.Hash()),
		fmt.Sprintf("version=%d ours=%d", peer.Version, peer.Version), "level=WARN"} {
		require.Contains(t, out.String(), what)
	}
	r.Run(time.Second)
	join(1)
	require.Equal(t, 2, strings.Count(out.String(), "client refused"))
	require.Contains(t, out.String(), "refused=4")
	require.EqualValues(t, 4, r.Server.Stats().RefusedProtocol)
}

func TestProtocolMayBeSharedByWorldsOnAnyGoroutine(t *testing.T) {
	p := protocol()
	done := make(chan error)
	for range 8 {
		go func() {
			_, err := netcode.NewClient(p, netcode.Config{})
			done <- err
		}()
	}
	for range 8 {
		require.NoError(t, <-done)
	}
}

func TestConfigNamesTheFieldThatIsOutOfRange(t *testing.T) {
	cases := map[string]netcode.Config{
		"TickRate":   {TickRate: -1},
		"PacketSize": {PacketSize: 100},
		"Window":     {Window: 10},
		"Clients":    {Clients: 2000},
		"KeepAlive":  {KeepAlive: -1},
		"CatchUp":    {CatchUp: -4},
	}
	for field, config := range cases {
		_, err := netcode.NewServer(protocol(), config)
		require.ErrorContains(t, err, "Config."+field)
		_, err = netcode.NewClient(protocol(), config)
		require.ErrorContains(t, err, "Config."+field)
	}
	_, err := netcode.NewServer(protocol(), netcode.Config{Random: empty{}})
	require.ErrorContains(t, err, "Config.Random")
}

type empty struct{}

func (empty) Read([]byte) (int, error) { return 0, errEmpty }

var errEmpty = errs.ReasonNone

type tableRow struct{ A, B, C, D, E, F, G int32 }

// A component may have the name of tables that belong to no component.
func TestComponentsMayHaveNamesOfTables(t *testing.T) {
	for _, name := range []string{"rows", "class", "list", "rows.1", "class.which1", "list.four"} {
		p := netcode.NewProtocol()
		netcode.Replicate[tableRow](p, netcode.Named(name))
		require.NotPanics(t, func() { p.Hash() }, name)
	}
}

func TestTablesOfAnotherFormAreToldAtTheStart(t *testing.T) {
	trainer := delta.NewTrainer()
	counting := delta.NewCounting(trainer, false)
	old := netcode.NewProtocol()
	netcode.Replicate[position](old, netcode.Named("Place"))
	require.NoError(t, old.Schema().SetTables(counting))
	tables, err := trainer.Build()
	require.NoError(t, err)
	changed := netcode.NewProtocol()
	netcode.Replicate[tableRow](changed, netcode.Named("Place"))
	changed.UseTables(tables)
	said := func() (said any) {
		defer func() { said = recover() }()
		changed.Hash()
		return nil
	}()
	require.Regexp(t, "^netcode: UseTables: .* train them anew .*component Place: .*table Place.which0", said)
}

type slowly struct{ N uint8 }
type atBirth struct{ N uint8 }
type eachTick struct{ N uint8 }

// The options of components reach the schema by the component, whatever order it puts them in.
func TestEveryAndOnce(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[slowly](p, netcode.Every(7), netcode.Named("Z"))
	netcode.Replicate[eachTick](p, netcode.Named("M"), netcode.Marked())
	netcode.Replicate[atBirth](p, netcode.Once(), netcode.Named("A"))
	require.Equal(t, snapshot.RowOptions{Once: true}, p.Schema().Options(0))
	require.Equal(t, snapshot.RowOptions{Marked: true}, p.Schema().Options(1))
	require.Equal(t, snapshot.RowOptions{Every: 7}, p.Schema().Options(2))

	plain := netcode.NewProtocol()
	netcode.Replicate[slowly](plain, netcode.Named("Z"))
	netcode.Replicate[eachTick](plain, netcode.Named("M"))
	netcode.Replicate[atBirth](plain, netcode.Named("A"))
	require.Equal(t, plain.Hash(), p.Hash(), "what only the server does is no part of the protocol")

	for _, options := range [][]netcode.Option{{netcode.Once(), netcode.Every(30)}, {netcode.Every(30), netcode.Marked(), netcode.Once()}} {
		require.PanicsWithValue(t,
			"netcode: Replicate[netcode_test.atBirth]: Once and Every(30) contradict each other: what is sent once has no next turn",
			func() { netcode.Replicate[atBirth](netcode.NewProtocol(), options...) })
	}
	require.NotPanics(t, func() { netcode.Replicate[atBirth](netcode.NewProtocol(), netcode.Every(65535)) })
	for _, ticks := range []int{0, -1, 65536} {
		require.Panics(t, func() { netcode.Every(ticks) })
	}
	require.PanicsWithValue(t,
		"netcode: Handle[netcode_test.slowly]: Every, Once, Marked and Importance are for components: a message is sent when Send is called",
		func() { netcode.Handle[slowly](netcode.NewProtocol(), nil, netcode.Once()) })
}

// A message has no bridge that could translate handles; it names entities by their network ids.
func TestMessagesNameEntitiesByNetworkID(t *testing.T) {
	type aim struct {
		At ecs.Entity `net:"entity"`
	}
	require.PanicsWithValue(t,
		`netcode: Handle[netcode_test.aim]: wire: aim.At: entity handles are local to a world, also with the tag net:"entity": `+
			`a message, an input or a collection names an entity by a field of type NetworkID with that tag`,
		func() { netcode.Handle[aim](netcode.NewProtocol(), nil) })
	require.Panics(t, func() { netcode.Handle[follows](netcode.NewProtocol(), nil) })
	type aimed struct {
		At   netcode.NetworkID `net:"entity"`
		From netcode.NetworkID `net:"entity"`
	}
	netcode.Handle[aimed](netcode.NewProtocol(), nil)
}

// cutComments are the fields whose trailing comment goes on in the next line: go doc leaves that out, or shows it as the next
// field's. A leading comment of the next field starts with its name.
func cutComments(t *testing.T, name string, source any) (found []string) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.ParseComments)
	require.NoError(t, err)
	starts := map[int]string{} // by line
	for _, group := range file.Comments {
		word, _, _ := strings.Cut(group.Text(), " ")
		starts[files.Position(group.Pos()).Line] = strings.TrimSpace(word)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		list, ok := n.(*ast.FieldList)
		if !ok {
			return true
		}
		for _, field := range list.List { // theirs are no lines of their own
			if field.Comment != nil {
				delete(starts, files.Position(field.Comment.Pos()).Line)
			}
		}
		for i, field := range list.List {
			if field.Comment == nil {
				continue
			}
			word, goesOn := starts[files.Position(field.Comment.Pos()).Line+1]
			if goesOn && i+1 < len(list.List) {
				for _, next := range list.List[i+1].Names {
					goesOn = goesOn && next.Name != word
				}
			}
			if goesOn {
				found = append(found, files.Position(field.Pos()).String())
			}
		}
		return true
	})
	return found
}

func TestFieldCommentsAreShownWhole(t *testing.T) {
	cutOff := "package x\n\ntype X struct {\n\tA int // one\n\t// two\n\tB int // one\n\t// C is three\n\tC int // one\n\t// four\n}\n"
	require.Len(t, cutComments(t, "x.go", cutOff), 2)
	var cut []string
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			cut = append(cut, cutComments(t, path, nil)...)
		}
		return err
	}))
	require.Empty(t, cut, "the comment goes before the field")
}
