package nettest_test

import (
	"os"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
)

func dump(name string) {
	runtime.GC()
	runtime.GC()
	f, _ := os.Create("/tmp/" + name)
	pprof.Lookup("heap").WriteTo(f, 0)
	f.Close()
}

func TestTmp(t *testing.T) {
	g := newVisitGame(t, netcode.Config{SilenceTimeout: time.Second, KeepAlive: 200 * time.Millisecond, Clients: 6, Executor: inTurn(3)})
	leaveAs := func(i int, c *nettest.Client) (over bool) {
		switch i % 4 {
		case 1:
			g.net.Kill(c)
			return true
		case 2:
			g.net.Server.Kick(c.ID(), "enough")
		default:
			c.Close()
		}
		return false
	}
	wave := func(n int) {
		visits(g.net, n, 2*time.Second, 200*time.Millisecond, leaveAs)
		g.net.Run(3 * time.Second)
	}
	wave(200)
	dump("a.prof")
	wave(600)
	dump("b.prof")
	t.Logf("%+v", g.net.Server.Stats())
	runtime.KeepAlive(g)
}

func TestTmp2(t *testing.T) {
	g := &walkers{count: 20}
	n := nettest.New(t, nettest.Config{Protocol: protocol(), Seed: 60, Link: transport.Link{Delay: 20 * time.Millisecond}, Game: g.play,
		Server: netcode.Config{Executor: inTurn(3)}})
	visits(n, 100, 4*time.Second, 200*time.Millisecond, inOrder)
	for i := range 6 {
		visits(n, 300, 4*time.Second, 200*time.Millisecond, inOrder)
		t.Log(i, heap(), n.Server.Store().ListsShared())
	}
}
