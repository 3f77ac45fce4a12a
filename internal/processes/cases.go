package main

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"time"

	"github.com/arche-netcode/netcode/nettest/adversary"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/udp"
)

// scenario is a case with a name. It counts the injected faults in its row.
type scenario struct {
	name string
	play func(o options, r *row) error
}

func cases() []scenario {
	return []scenario{
		{"kill", kills}, {"restart", restarts}, {"stop", stops}, {"flood", floods}, {"relay", relays}, {"starve", starve}, {"errors", socketErrors}, {"ipv6", overIPv6},
	}
}

const loopback = "127.0.0.1:0"

// kills kills clients, eight at a time, each at a different moment of its life.
func kills(o options, r *row) error {
	r.injected = "clients killed while they start, connect, join and play"
	g, err := newGame(loopback, 2, nil)
	if err != nil {
		return err
	}
	defer g.end()
	heap := g.server.last().Heap
	random := rand.New(rand.NewPCG(1, 1))
	played := 0
	for r.count < o.Kills {
		var batch []*process
		for range min(8, o.Kills-r.count) {
			c, err := start("client " + g.address)
			if err != nil {
				return err
			}
			batch = append(batch, c)
		}
		for _, c := range batch {
			time.Sleep(time.Duration(random.IntN(40)) * time.Millisecond)
			if c.last().Entities > 0 {
				played++
			}
			c.kill()
			r.count++
		}
	}
	if _, err := await("the sessions of the killed ended", silence+patience, func() bool { return g.server.last().Connected == len(g.honest) }); err != nil {
		return err
	}
	if _, err := g.inStep(patience); err != nil {
		return err
	}
	now := g.server.last()
	r.measured = fmt.Sprintf("%d of them had state; %d sessions ended, %d of the honest; heap %.1f to %.1f MB, %d goroutines", played, now.Over, g.over(), float64(heap)/1e6, float64(now.Heap)/1e6, now.Goroutines)
	if now.Heap > heap+32<<20 {
		return errors.New(r.measured)
	}
	return g.faultless(0)
}

// restarts kills the server and restarts it at the same address.
func restarts(o options, r *row) error {
	r.injected = "servers killed and started again, three clients attached"
	g, err := newGame(loopback, 3, nil)
	if err != nil {
		return err
	}
	defer func() { _ = g.end() }()
	slowest := time.Duration(0)
	for range 5 {
		before := g.over()
		g.server.kill()
		r.count++
		server, err := start("server " + g.address)
		if err != nil {
			return err
		}
		g.server = server
		if _, err := await("the new server listens", patience, func() bool { return g.server.count() > 0 }); err != nil {
			return err
		}
		took, err := await("all clients were told", patience, func() bool { return g.over() >= before+len(g.honest) })
		if err != nil {
			return err
		}
		slowest = max(slowest, took)
		if _, err := g.inStep(patience); err != nil {
			return err
		}
	}
	r.measured = fmt.Sprintf("the slowest client was told %.2f s after the server listened", slowest.Seconds())
	return nil
}

// stops suspends the server, and then a client, and resumes them.
func stops(o options, r *row) error {
	r.injected = fmt.Sprintf("stops of the server and of a client, of %v", o.Stops)
	g, err := newGame(loopback, 3, nil)
	if err != nil {
		return err
	}
	defer g.end()
	slowest := time.Duration(0)
	for _, span := range o.Stops {
		for _, p := range []*process{g.server, g.honest[0]} {
			p.signal(stopSignal())
			time.Sleep(span)
			p.signal(goOnSignal())
			began := time.Now()
			r.count++
			if err := p.goesOn(); err != nil {
				return err
			}
			if _, err := g.inStep(patience); err != nil {
				return fmt.Errorf("after %v: %w", span, err)
			}
			slowest = max(slowest, time.Since(began))
		}
	}
	r.measured = fmt.Sprintf("all in step again at most %.2f s later; %d sessions ended", slowest.Seconds(), g.over())
	return nil
}

// flooders is the number of loopback addresses of a flood, and floodRate its maximum rate in datagrams per second. On two
// processors 100,000 per second fill the kernel's buffer of the socket, and sessions of honest clients then time out. The flood
// therefore waits for a report of the server after floodLead datagrams of each kind.
const (
	flooders  = 200
	floodRate = 20_000
	floodLead = 1000
)

// floods sends handshake floods of five kinds, including noise, to the server.
func floods(o options, r *row) error {
	r.injected = fmt.Sprintf("Hellos, forged cookies, forged Joins, noise and tiny datagrams, from %d addresses", flooders)
	g, err := newGame(loopback, 2, nil)
	if err != nil {
		return err
	}
	defer g.end()
	target, err := net.ResolveUDPAddr("udp", g.address)
	if err != nil {
		return err
	}
	var sockets []*net.UDPConn
	for i := range flooders {
		s, err := net.DialUDP("udp", &net.UDPAddr{IP: net.IPv4(127, byte(1+i/100), byte(1+i%100), 1)}, target)
		if err != nil {
			return err
		}
		defer s.Close()
		sockets = append(sockets, s)
	}
	next, refused := 0, 0
	s := adversary.NewStranger(protocol(), 1, func(_ transport.Addr, datagram []byte) {
		next++
		if _, err := sockets[next%flooders].Write(datagram); err != nil {
			refused++
		}
	})
	heap, before, began := g.server.last(), g.over(), time.Now()
	for sent := 0; sent < o.Floods; sent += 100 {
		for _, l := range adversary.StrangerLies(transport.Addr{}) {
			if l.Name != "ForgedCloses" { // their sender is the address of a session
				l.Tell(s)
			}
		}
		time.Sleep(time.Duration(next)*time.Second/floodRate - time.Since(began))
		if sent%floodLead == 0 {
			if err := g.server.goesOn(); err != nil {
				return err
			}
		}
	}
	answers := waiting(sockets)
	r.count = next - refused
	if _, err := g.inStep(patience); err != nil {
		return err
	}
	now := g.server.last()
	r.measured = fmt.Sprintf("%.1f MB in, %.1f MB of answers read; %d sessions, %d ended; heap %.1f to %.1f MB; %d refused by the kernel",
		float64(s.Bytes())/1e6, float64(answers)/1e6, now.Connected, g.over()-before, float64(heap.Heap)/1e6, float64(now.Heap)/1e6, refused)
	if now.Connected != len(g.honest) || answers > s.Bytes() || now.Heap > heap.Heap+32<<20 {
		return errors.New(r.measured)
	}
	return g.faultless(before)
}

// waiting returns the number of received bytes in sockets.
func waiting(sockets []*net.UDPConn) (bytes int) {
	for _, c := range sockets {
		_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
		for buf := make([]byte, 2048); ; {
			n, err := c.Read(buf)
			if err != nil {
				break
			}
			bytes += n
		}
	}
	return bytes
}

// relays sends all datagrams of three clients through a bad relay.
func relays(o options, r *row) error {
	r.injected = "datagrams damaged, doubled, overtaken, dropped or cut off by size, and new ports"
	var all *relay
	g, err := newGame(loopback, 3, func(server string) (string, error) {
		var err error
		if all, err = newRelay(server); err != nil {
			return "", err
		}
		return all.address(), nil
	})
	if err != nil {
		return err
	}
	defer g.end()
	defer all.end()
	all.spoil(true)
	for end := time.Now().Add(o.Relay); time.Now().Before(end); {
		time.Sleep(o.Relay / 5)
		all.rebind()
	}
	if _, err := await("each fault was injected", patience, func() bool { return !slices.Contains(slices.Collect(maps.Values(all.counts())), 0) }); err != nil {
		return err
	}
	all.spoil(false)
	if _, err := g.inStep(patience); err != nil {
		return err
	}
	counts := all.counts()
	for _, n := range counts {
		r.count += n
	}
	r.measured = fmt.Sprintf("%v; %d sessions moved, %d ended", counts, g.server.last().Migrated, g.over())
	return nil
}

// starve runs twice as many computing processes as there are processors.
func starve(o options, r *row) error {
	r.injected = fmt.Sprintf("processes that only compute, on %d processors", runtime.NumCPU())
	g, err := newGame(loopback, 3, nil)
	if err != nil {
		return err
	}
	defer g.end()
	for range 2 * runtime.NumCPU() {
		p, err := start("burn")
		if err != nil {
			return err
		}
		defer p.kill()
		r.count++
	}
	longest := 0.
	for end := time.Now().Add(o.Relay); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		longest = max(longest, g.server.last().Longest)
	}
	if _, err := g.inStep(patience); err != nil {
		return err
	}
	r.measured = fmt.Sprintf("longest time between two frames of the server %.0f ms; %d sessions ended", longest, g.over())
	return nil
}

// socketErrors provokes errors of a socket, and then uses it.
func socketErrors(_ options, r *row) error {
	r.injected = "datagrams to a closed port, to nowhere, and of 65000 bytes and more"
	here, err := udp.Listen(loopback, udp.Config{})
	if err != nil {
		return err
	}
	defer here.Close()
	there, err := udp.Listen(loopback, udp.Config{})
	if err != nil {
		return err
	}
	defer there.Close()
	closed, err := udp.Listen(loopback, udp.Config{})
	if err != nil {
		return err
	}
	_ = closed.Close()
	refused := map[string]int{}
	for range 20 {
		for name, send := range map[string]func() error{
			"to a closed port": func() error { return here.Send(closed.LocalAddr(), []byte("x")) },
			"to nowhere":       func() error { return here.Send(transport.AddrOf(netip.MustParseAddrPort("240.0.0.1:9")), []byte("x")) },
			"to everybody": func() error {
				return here.Send(transport.AddrOf(netip.MustParseAddrPort("255.255.255.255:9")), []byte("x"))
			},
			"of 65000 and more":   func() error { return here.Send(there.LocalAddr(), make([]byte, 65520)) },
			"over another family": func() error { return here.Send(transport.AddrOf(netip.MustParseAddrPort("[::1]:9")), []byte("x")) },
		} {
			if send() != nil {
				refused[name]++
			}
			r.count++
		}
	}
	if err := here.Send(there.LocalAddr(), []byte("still here")); err != nil {
		return fmt.Errorf("the socket sends no more: %w", err)
	}
	buf := make([]byte, transport.MaxDatagram)
	if _, err := await("the datagram after all errors comes", patience, func() bool {
		n, _, err := there.Receive(buf)
		return err == nil && string(buf[:n]) == "still here"
	}); err != nil {
		return err
	}
	r.measured = fmt.Sprintf("the socket sends and receives; errors returned: %v", refused)
	if refused["of 65000 and more"] == 0 {
		return fmt.Errorf("a datagram that is too large is no error: %v", refused)
	}
	return nil
}

// overIPv6 runs the game over IPv6, and kills a client.
func overIPv6(_ options, r *row) error {
	r.injected = "clients over IPv6, one of them killed"
	probe, err := net.ListenUDP("udp6", &net.UDPAddr{IP: net.IPv6loopback})
	if err != nil {
		r.count, r.measured = 1, "left out: this machine has no IPv6"
		return nil
	}
	_ = probe.Close()
	g, err := newGame("[::1]:0", 3, nil)
	if err != nil {
		return err
	}
	defer func() { _ = g.end() }()
	r.count = len(g.honest)
	g.honest[2].kill()
	g.honest = g.honest[:2]
	if _, err := await("the session of the killed ended", silence+patience, func() bool { return g.server.last().Connected == 2 }); err != nil {
		return err
	}
	_, err = g.inStep(patience)
	r.measured = "the others are in step"
	return err
}
