package nettest_test

import (
	"os"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

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
	g := &walkers{count: 20}
	n := nettest.New(t, nettest.Config{Protocol: protocol(), Seed: 60, Link: transport.Link{Delay: 20 * time.Millisecond}, Game: g.play})
	visits(n, 100, 2*time.Second, 300*time.Millisecond)
	dump("a.prof")
	visits(n, 1000, 2*time.Second, 300*time.Millisecond)
	dump("b.prof")
	runtime.KeepAlive(n)
}
