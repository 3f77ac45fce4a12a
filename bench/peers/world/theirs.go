package main

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/leap-fish/necs/esync"
	"github.com/leap-fish/necs/esync/srvsync"
	"github.com/leap-fish/necs/router"
	"github.com/leap-fish/necs/transports"
	"github.com/yohamta/donburi"
)

// necsComponents are necs's component types. It keeps them, like the world and its connections, in variables of its packages, so there is
// one of each in a process.
type necsComponents struct {
	position *donburi.ComponentType[Position]
	rotation *donburi.ComponentType[Rotation]
	velocity *donburi.ComponentType[Velocity]
}

var registerNecs = sync.OnceValues(func() (necsComponents, error) {
	c := necsComponents{donburi.NewComponentType[Position](), donburi.NewComponentType[Rotation](), donburi.NewComponentType[Velocity]()}
	return c, errors.Join(
		esync.RegisterComponent(10, Position{}, c.position),
		esync.RegisterComponent(11, Rotation{}, c.rotation),
		esync.RegisterComponent(12, Velocity{}, c.velocity))
})

// listenNecs starts necs's server on a port that is free, once in a process: it has no way to stop.
var listenNecs = sync.OnceValues(func() (string, error) {
	probe, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	port := probe.Addr().(*net.TCPAddr).Port
	if err := probe.Close(); err != nil {
		return "", err
	}
	failed := make(chan error, 1)
	server := transports.NewWsServerTransport(uint(port), "127.0.0.1", nil)
	go func() { failed <- server.Start() }()
	address := fmt.Sprintf("127.0.0.1:%d", port)
	for range 200 {
		if conn, err := net.Dial("tcp4", address); err == nil {
			return address, conn.Close()
		}
		select {
		case err := <-failed:
			return "", err
		case <-time.After(10 * time.Millisecond):
		}
	}
	return "", errors.New("necs does not listen")
})

// theirs is necs's server.
type theirs struct {
	sample
	necsComponents
	scene   *scene
	entries []*donburi.Entry
	address string
	first   uint64 // network id of the first body
	syncs   int64
	read    int64 // bytes that the clients have
}

func newTheirs(s *scene) (*theirs, error) {
	t := &theirs{scene: s}
	var err error
	if t.necsComponents, err = registerNecs(); err != nil {
		return nil, err
	}
	if t.address, err = listenNecs(); err != nil {
		return nil, err
	}
	world := donburi.NewWorld()
	srvsync.UseEsync(world)
	t.first = srvsync.NetworkIdCounter.Load() + 1
	for i := range s.bodies {
		entity := world.Create(t.position, t.rotation, t.velocity)
		if err := srvsync.NetworkSync(world, &entity, t.position, t.rotation, t.velocity); err != nil {
			return nil, err
		}
		t.entries = append(t.entries, world.Entry(entity))
		t.write(i)
	}
	return t, nil
}

func (t *theirs) write(i int) {
	b, e := &t.scene.bodies[i], t.entries[i]
	t.position.SetValue(e, b.p)
	t.rotation.SetValue(e, b.r)
	t.velocity.SetValue(e, b.v)
}

// game moves what moves and writes it.
func (t *theirs) game() {
	t.scene.step()
	for _, i := range t.scene.movers {
		t.write(i)
	}
}

// receive is nothing: goroutines of necs's read by themselves.
func (t *theirs) receive() error { return nil }

// tick is necs's.
func (t *theirs) tick() error {
	t.syncs++
	return srvsync.DoSync()
}

// join waits until all clients are necs's peers, and none of a run before.
func (t *theirs) join(clients int) error {
	for range 6000 {
		if len(router.Peers()) == clients {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("necs has %d peers, %d are there", len(router.Peers()), clients)
}

// settle waits until every client has read every snapshot.
func (t *theirs) settle(f *far) error {
	answer, err := f.ask(fmt.Sprintf("%s %d", farNecs, t.syncs))
	if err == nil {
		_, err = fmt.Sscan(answer, &t.read)
	}
	return err
}

func (t *theirs) sent() int64 { return t.read }

// verify compares what a client decodes from the last snapshot with the scene.
func (t *theirs) verify(f *far) error {
	got, err := f.ask(fmt.Sprintf("%s %d", farNecsDigest, t.first))
	if want := fmt.Sprintf("%016x", t.scene.digest()); err == nil && got != want {
		err = fmt.Errorf("necs's snapshot is %s, the world is %s", got, want)
	}
	return err
}
