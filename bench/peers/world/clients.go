package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/mlange-42/arche/ecs"
	"nhooyr.io/websocket"

	"github.com/leap-fish/necs/esync"
	"github.com/leap-fish/necs/router"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/udp"
)

// players are netcode's clients: each has a socket and a world, and decodes, applies and acknowledges.
type players struct {
	all      []*player
	protocol *netcode.Protocol
	frames   int64
	fault    error
}

type player struct {
	client *netcode.Client
	conn   *udp.Conn
	world  ecs.World
	steps  []systems.System
}

func newPlayers(count int, server string, exact bool) (*players, error) {
	to, err := transport.ParseAddr(server)
	if err != nil {
		return nil, err
	}
	p := &players{protocol: protocol(exact)}
	for range count {
		one := &player{world: ecs.NewWorld()}
		if one.conn, err = udp.Listen("127.0.0.1:0", udp.Config{Queue: 4096, ReadBuffer: 8 << 20}); err != nil {
			return nil, err
		}
		if one.client, err = netcode.NewClient(p.protocol, config(1)); err != nil {
			return nil, err
		}
		one.client.OnError(func(err error) { p.fault = err })
		one.steps = systems.NewClient(one.client, one.conn, p.now).Systems()
		for _, s := range one.steps {
			s.Initialize(&one.world)
		}
		if err := one.client.Connect(to); err != nil {
			return nil, err
		}
		p.all = append(p.all, one)
	}
	return p, nil
}

// now is a virtual clock: one tick for each frame of all.
func (p *players) now() time.Duration { return time.Duration(p.frames) * time.Second / tickHz }

func (p *players) frame() error {
	p.frames++
	for _, one := range p.all {
		for _, s := range one.steps {
			s.Update(&one.world)
		}
		if err := one.client.Err(); err != nil {
			return err
		}
	}
	return p.fault
}

// join runs a frame and tells how many have not applied any of the world.
func (p *players) join() (string, error) {
	time.Sleep(time.Millisecond) // for what is on its way
	waiting := 0
	err := p.frame()
	for _, one := range p.all {
		if one.client.State() != netcode.Connected || one.client.Replica().Len() == 0 {
			waiting++
		}
	}
	return fmt.Sprint(waiting), err
}

// reach waits for as many datagrams as the server has sent, runs a frame, and tells how many ticks the last one is behind.
func (p *players) reach(to, datagrams int64) (string, error) {
	for deadline := time.Now().Add(patience); p.received() < datagrams; runtime.Gosched() {
		if time.Now().After(deadline) {
			return "", fmt.Errorf("%d of %d datagrams came", p.received(), datagrams)
		}
	}
	err := p.frame()
	behind := int64(0)
	for _, one := range p.all {
		behind = max(behind, to-int64(one.client.Replica().Tick()))
	}
	return fmt.Sprint(behind), err
}

func (p *players) received() (sum int64) {
	for _, one := range p.all {
		sum += int64(one.conn.Stats().Received)
	}
	return sum
}

// digest is that of every client's world.
func (p *players) digest() (string, error) {
	same := uint64(0)
	for i, one := range p.all {
		digest := netecs.Digest(&one.world, p.protocol.Schema())
		if i > 0 && digest != same {
			return "", fmt.Errorf("client %d has another world than the first", i)
		}
		same = digest
	}
	return fmt.Sprintf("%016x", same), nil
}

// readers are necs's clients: they count what comes and look at nothing, but that the first keeps the last of it.
type readers struct {
	snapshots, bytes []atomic.Int64
	last             atomic.Pointer[[]byte]
	fault            atomic.Pointer[error]
}

func newReaders(count int, server string) (*readers, error) {
	r := &readers{snapshots: make([]atomic.Int64, count), bytes: make([]atomic.Int64, count)}
	for i := range count {
		conn, _, err := websocket.Dial(context.Background(), "ws://"+server+"/", nil)
		if err != nil {
			return nil, err
		}
		conn.SetReadLimit(-1)
		go r.read(i, conn)
	}
	_, err := registerNecs()
	return r, err
}

func (r *readers) read(i int, conn *websocket.Conn) {
	for {
		_, message, err := conn.Read(context.Background())
		if err != nil {
			r.fault.Store(&err)
			return
		}
		if i == 0 {
			r.last.Store(&message)
		}
		r.bytes[i].Add(int64(len(message)))
		r.snapshots[i].Add(1)
	}
}

// wait answers when every client has so many snapshots, with the bytes of all.
func (r *readers) wait(snapshots int64) (string, error) {
	bytes := int64(0)
	for i := range r.snapshots {
		for deadline := time.Now().Add(patience); r.snapshots[i].Load() < snapshots; time.Sleep(50 * time.Microsecond) {
			if err := r.fault.Load(); err != nil {
				return "", *err
			}
			if time.Now().After(deadline) {
				return "", fmt.Errorf("necs's client %d has %d of %d snapshots", i, r.snapshots[i].Load(), snapshots)
			}
		}
		bytes += r.bytes[i].Load()
	}
	return fmt.Sprint(bytes), nil
}

// digest decodes the last snapshot with necs's own code.
func (r *readers) digest(first uint64) (string, error) {
	message := r.last.Load()
	if message == nil {
		return "", errors.New("no snapshot of necs's came")
	}
	var snapshot esync.WorldSnapshot
	router.ResetRouter()
	router.On(func(_ *router.NetworkClient, s esync.WorldSnapshot) { snapshot = s })
	if err := router.ProcessMessage(nil, *message); err != nil {
		return "", err
	}
	sum := uint64(0)
	for _, entity := range snapshot {
		var b body
		for _, data := range entity.State {
			component, err := esync.Mapper.Deserialize(data)
			if err != nil {
				return "", err
			}
			switch v := component.(type) {
			case Position:
				b.p = v
			case Rotation:
				b.r = v
			case Velocity:
				b.v = v
			}
		}
		sum += b.sum(int(uint64(entity.Id) - first))
	}
	return fmt.Sprintf("%016x", sum), nil
}
