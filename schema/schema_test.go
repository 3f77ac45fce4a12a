package schema_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/schema"
	"github.com/arche-netcode/netcode/wire"
)

type position struct {
	X, Y float32 `net:"min=-512,max=512,step=0.5"`
}

type position3 struct {
	X, Y float32 `net:"min=-512,max=512,step=0.5"`
	Z    float32
}

type positionFine struct {
	X float32 `net:"min=-512,max=512,step=0.25"`
	Y float32 `net:"min=-512,max=512,step=0.5"`
}

type positionTurned struct {
	Y, X float32 `net:"min=-512,max=512,step=0.5"`
}

type positionBefore struct {
	Z    uint8
	X, Y float32 `net:"min=-512,max=512,step=0.5"`
}

type positionNamed struct {
	X, Z float32 `net:"min=-512,max=512,step=0.5"`
}

type (
	health  struct{ Points uint16 }
	chat    struct{ Text uint32 }
	stick   struct{ X, Y int8 }
	slot    struct{ Item, Count uint8 }
	shield  struct{ Left uint8 }
	emote   struct{ Which uint8 }
	command struct{ Order uint8 }
	said    struct{ Text string }
	said100 struct{ Text string }
	saidTo  struct {
		Text string
		To   uint8
	}
)

func (m *said) Serialize(s *wire.Serializer)    { s.String(&m.Text, 200) }
func (m *said100) Serialize(s *wire.Serializer) { s.String(&m.Text, 100) }
func (m *saidTo) Serialize(s *wire.Serializer) {
	s.String(&m.Text, 200)
	wire.SerializeEnumWithin(s, &m.To, 0, 4)
}

// build registers the protocol of a test. Each part may differ from the first build.
type build struct {
	position  func(p *netcode.Protocol)
	health    func(p *netcode.Protocol)
	chat      func(p *netcode.Protocol)
	stick     func(p *netcode.Protocol)
	inventory func(p *netcode.Protocol)
	said      func(p *netcode.Protocol)
	more      func(p *netcode.Protocol)
}

// first returns the build that players have.
func first() build {
	return build{
		position:  func(p *netcode.Protocol) { netcode.Replicate[position](p) },
		health:    func(p *netcode.Protocol) { netcode.Replicate[health](p, netcode.Every(3), netcode.Importance(2)) },
		chat:      func(p *netcode.Protocol) { netcode.Handle[chat](p, nil, netcode.Over(netcode.ReliableOrdered)) },
		stick:     func(p *netcode.Protocol) { input.Register[stick](p) },
		inventory: func(p *netcode.Protocol) { collections.NewList[slot](p, "inventory") },
		said:      func(p *netcode.Protocol) { netcode.Handle[said](p, nil) },
		more:      func(*netcode.Protocol) {},
	}
}

func (b build) protocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	for _, register := range []func(*netcode.Protocol){b.position, b.health, b.chat, b.stick, b.inventory, b.said, b.more} {
		register(p)
	}
	return p
}

// change is one change of the first build, and the words in which Compare tells it.
type change struct {
	name   string
	of     func(b *build)
	breaks bool
	want   []string
}

func named(name string) netcode.Option { return netcode.Named(name) }

func changes() []change {
	replace := func(register func(p *netcode.Protocol)) func(b *build) {
		return func(b *build) { b.position = register }
	}
	nothing := func(*netcode.Protocol) {}
	beside := "leave position as it was, and add another type beside it"
	return []change{
		{"nothing", func(*build) {}, false, []string{"compatible: the protocols are the same"}},
		{"options", func(b *build) {
			b.health = func(p *netcode.Protocol) { netcode.Replicate[health](p, netcode.Marked()) }
		}, false,
			[]string{"component health: its options were every 3, importance 2 and are marked: only the server asks for them", "compatible: clients and servers"}},
		{"a tag", replace(func(p *netcode.Protocol) { netcode.Replicate[positionFine](p, named("position")) }), true,
			[]string{"component position: the field X was f32[-512,512,0.5] and is f32[-512,512,0.25]", beside}},
		{"a field at the end", replace(func(p *netcode.Protocol) { netcode.Replicate[position3](p, named("position")) }), true,
			[]string{"it has the new field Z:f32 at the end", "way out: give the lock file of the older build to schema.Support"}},
		{"a field that clients write", func(b *build) {
			b.health = func(p *netcode.Protocol) { netcode.Replicate[health](p, authority.WrittenBy(authority.OwnerWrites)) }
			b.position = func(p *netcode.Protocol) {
				netcode.Replicate[position3](p, named("position"), authority.WrittenBy(authority.OwnerWrites))
			}
		}, true, []string{"it has the new field Z:f32 at the end", beside}},
		{"a field at the beginning", replace(func(p *netcode.Protocol) { netcode.Replicate[positionBefore](p, named("position")) }), true,
			[]string{"it has the new field Z:u8 before the end", "way out: give the lock file of the older build to schema.Support"}},
		{"the order of fields", replace(func(p *netcode.Protocol) { netcode.Replicate[positionTurned](p, named("position")) }), true,
			[]string{"its fields have another order, from X:f32[-512,512,0.5] on", beside}},
		{"the name of a field", replace(func(p *netcode.Protocol) { netcode.Replicate[positionNamed](p, named("position")) }), true,
			[]string{"the field Y:f32[-512,512,0.5] is gone, or has another name: Z:f32[-512,512,0.5] stands there", beside}},
		{"a wire name", replace(func(p *netcode.Protocol) { netcode.Replicate[position](p, named("place")) }), true,
			[]string{"component position: it has the wire name place now", `netcode.Named("position")`}},
		{"who writes", replace(func(p *netcode.Protocol) {
			netcode.Replicate[position](p, authority.WrittenBy(authority.OwnerWrites))
		}), true, []string{"component position: it was sent plainly and is sent [owner]", beside, "message netcode.right: it is new"}},
		{"a component less", replace(nothing), true, []string{"component position: it is gone", "keep it registered"}},
		{"a component more", func(b *build) { b.more = func(p *netcode.Protocol) { netcode.Replicate[shield](p) } }, true, []string{"component shield: it is new"}},
		{"a message more", func(b *build) { b.more = func(p *netcode.Protocol) { netcode.Handle[emote](p, nil) } }, true, []string{"message emote: it is new"}},
		{"how a message is sent", func(b *build) {
			b.chat = func(p *netcode.Protocol) {
				netcode.Handle[chat](p, nil, netcode.Over(netcode.Reliable), netcode.OnChannel(2))
			}
		}, true, []string{"message chat: it was sent [both ways;ReliableOrdered 0] and is sent [both ways;Reliable 2]"}},
		{"an input more", func(b *build) { b.more = func(p *netcode.Protocol) { input.Register[command](p) } }, true, []string{"input command: it is new"}},
		{"an input less", func(b *build) { b.stick = nothing }, true, []string{"input stick: it is gone"}},
		{"the size of a list", func(b *build) {
			b.inventory = func(p *netcode.Protocol) { collections.NewList[slot](p, "inventory", collections.MaxElements(9)) }
		}, true, []string{"collection inventory: the field most was 1024 and is 9"}},
		{"the bound of a text that a method writes", func(b *build) {
			b.said = func(p *netcode.Protocol) { netcode.Handle[said100](p, nil, named("said")) }
		}, true, []string{"message said: the field Text was string200 and is string100", "leave said as it was, and add another type beside it"}},
		{"what a method writes", func(b *build) {
			b.said = func(p *netcode.Protocol) { netcode.Handle[saidTo](p, nil, named("said")) }
		}, true, []string{"message said: it has the new field To:u8[0,4] at the end"}},
		{"no packing", func(b *build) { b.more = (*netcode.Protocol).Debug }, true, []string{"limits netcode: it has the new field unpacked at the end", "call Debug in both builds or in none"}},
	}
}

// The verdict of Compare is that of the handshake, which compares hashes.
func TestEachChangeIsToldInWords(t *testing.T) {
	before := schema.Of(first().protocol())
	for _, c := range changes() {
		t.Run(c.name, func(t *testing.T) {
			b := first()
			c.of(&b)
			after := schema.Of(b.protocol())
			found := schema.Compare(before, after)
			report := schema.Report(found)
			for _, want := range c.want {
				require.Contains(t, report, want)
			}
			require.Equal(t, c.breaks, schema.Breaking(found), report)
			require.Equal(t, c.breaks, before.Hash != after.Hash, "the hash is the truth")
			require.Equal(t, c.breaks, schema.Breaking(schema.Compare(after, before)), "breaking is the same the other way round")
		})
	}
}

// Random builds break each other exactly if their hashes differ, and what one lock says comes back when it is read.
func TestRandomBuilds(t *testing.T) {
	all := changes()
	rapid.Check(t, func(t *rapid.T) {
		var locks [2]*schema.Lock
		for i := range locks {
			b := first()
			for _, n := range rapid.SliceOfN(rapid.IntRange(0, len(all)-1), 0, 4).Draw(t, "changes") {
				all[n].of(&b)
			}
			p := b.protocol()
			var text bytes.Buffer
			require.NoError(t, p.WriteSchema(&text))
			var err error
			locks[i], err = schema.Read(&text)
			require.NoError(t, err)
			require.Equal(t, p.Hash(), locks[i].Hash)
			var entries []string
			for k := range locks[i].Entries {
				entries = append(entries, locks[i].Entries[k].Text())
			}
			require.Equal(t, p.Description(), entries)
		}
		require.Equal(t, locks[0].Hash != locks[1].Hash, schema.Breaking(schema.Compare(locks[0], locks[1])))
	})
}

// lockText returns the lock file of a build.
func lockText(p *netcode.Protocol) string {
	var text bytes.Buffer
	_ = p.WriteSchema(&text)
	return text.String()
}

// A lock names the builds that its own supports: then what is additive breaks nobody, in either direction.
func TestASupportedBuildIsCompatible(t *testing.T) {
	old := first()
	newer := first()
	newer.position = func(p *netcode.Protocol) { netcode.Replicate[position3](p, named("position")) }
	newer.more = func(p *netcode.Protocol) {
		netcode.Replicate[shield](p)
		netcode.Handle[emote](p, nil)
		schema.Support(p, lockText(old.protocol()), lockText(old.protocol()))
	}
	before, after := schema.Of(old.protocol()), schema.Of(newer.protocol())
	require.Equal(t, []uint64{before.Hash}, after.Supports, "once")
	for _, changes := range [][]schema.Change{schema.Compare(before, after), schema.Compare(after, before)} {
		require.Len(t, changes, 3)
		require.False(t, schema.Breaking(changes))
		require.Contains(t, schema.Report(changes), "left out between the two builds")
	}
	newer.more = func(p *netcode.Protocol) { netcode.Replicate[shield](p) }
	require.Contains(t, schema.Report(schema.Compare(before, schema.Of(newer.protocol()))), "way out: give the lock file of the older build to schema.Support")
	require.PanicsWithValue(t, "netcode: schema.Support: schema: this is no lock file: line 1 is \"nonsense\", and not schema 1 with a hash: Protocol.WriteSchema writes such a file",
		func() { schema.Support(netcode.NewProtocol(), "nonsense") })
}

// A name may have spaces, as that of the section of a protocol with prediction.
func TestTheLockOfAPredictedGameIsRead(t *testing.T) {
	game := func() *netcode.Protocol {
		p := netcode.NewProtocol()
		netcode.Replicate[position](p)
		netcode.Replicate[components.Owner](p)
		input.Register[stick](p)
		predict.Register[position](p)
		return p
	}
	lock, err := schema.Read(strings.NewReader(lockText(game())))
	require.NoError(t, err)
	require.Empty(t, schema.Compare(lock, schema.Of(game())))
	newer := game()
	netcode.Replicate[shield](newer)
	schema.Support(newer, lockText(game()))
	require.False(t, schema.Breaking(schema.Compare(lock, schema.Of(newer))))
}

// record is a test that fails without an end.
type record struct {
	testing.TB
	failed string
}

func (r *record) Helper()                           {}
func (r *record) Errorf(format string, args ...any) { r.failed = fmt.Sprintf(format, args...) }

func (r *record) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

func (r *record) Fatalf(format string, args ...any) {
	r.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// check returns what Check says.
func check(p *netcode.Protocol, file string) string {
	r, done := &record{}, make(chan struct{})
	go func() {
		defer close(done)
		schema.Check(r, p, file)
	}()
	<-done
	return r.failed
}

func TestCheckHoldsAProtocolToItsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "testdata", "schema.lock")
	require.Contains(t, check(first().protocol(), file), "run the test once with NETCODE_SCHEMA=write")
	t.Setenv(schema.Variable, "write")
	require.Empty(t, check(first().protocol(), file))
	t.Setenv(schema.Variable, "")
	require.Empty(t, check(first().protocol(), file))

	other := first()
	other.more = func(p *netcode.Protocol) { netcode.Replicate[shield](p) }
	said := check(other.protocol(), file)
	for _, want := range []string{"component shield: it is new", "not compatible", "NETCODE_SCHEMA=write"} {
		require.Contains(t, said, want)
	}
	t.Setenv(schema.Variable, "write")
	require.Contains(t, check(first().protocol(), t.TempDir()), "directory", "the file cannot be written")
	require.Empty(t, check(other.protocol(), file))
	t.Setenv(schema.Variable, "")
	require.Empty(t, check(other.protocol(), file))

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, bytes.Replace(text, []byte("u8"), []byte("u9"), 1), 0o600))
	require.Contains(t, check(other.protocol(), file), "do not edit or merge it")
}

// The file is the same on each machine, so its format is kept by one.
func TestGoldenLock(t *testing.T) {
	schema.Check(t, first().protocol(), "testdata/example.lock")
}

func TestWhatIsNoLockIsRefused(t *testing.T) {
	var text bytes.Buffer
	require.NoError(t, first().protocol().WriteSchema(&text))
	whole := text.String()
	head := whole[:strings.Index(whole, "\n\n")+1]
	for name, c := range map[string]struct{ text, want string }{
		"nothing":            {"", "hash does not fit"},
		"other text":         {"hello\n", "line 1"},
		"another version":    {"schema 2 0\n", "line 1"},
		"no hash":            {head + "supports x\n", "line 3"},
		"a field alone":      {head + "\tX:f32\n", `line 3`},
		"an option alone":    {head + "option once\n", "line 3"},
		"an end alone":       {head + "}\n", "line 3"},
		"another id":         {head + "component position #00000000 {\n", "line 3"},
		"no name":            {head + "component {\n", "line 3"},
		"an entry in one":    {head + "component position #00000000 {\n\tX:f32\n", "line 3"},
		"cut off":            {whole[:len(whole)-20], "hash does not fit"},
		"marks of a merge":   {strings.Replace(whole, "\n}", "\n<<<<<<< HEAD\n}", 1), "<<<<<<< HEAD"},
		"an entry is lost":   {whole[:strings.LastIndex(whole, "\n\n")], "hash does not fit"},
		"a line of a MiB":    {strings.Repeat("x", 1<<20+1), "too long"},
		"carriage returns":   {strings.ReplaceAll(whole, "\n", "\r\n"), ""},
		"another first line": {strings.TrimPrefix(whole, "#"), "line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := schema.Read(strings.NewReader(c.text))
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

func FuzzRead(f *testing.F) {
	var text bytes.Buffer
	require.NoError(f, first().protocol().WriteSchema(&text))
	f.Add(text.String())
	f.Add("schema 1 cbf29ce484222325\n")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := schema.Read(strings.NewReader(text))
		if err == nil && len(schema.Compare(l, l)) > 0 {
			t.Fatal("a lock differs from itself")
		}
	})
}
