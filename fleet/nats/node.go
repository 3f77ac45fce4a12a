package nats

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/tick"
)

// Node is one process of a fleet: its connection to NATS, its lease, its copy of the directory. Any goroutine may use it.
type Node struct {
	config   Config
	embedded *embedded
	conn     *natsgo.Conn
	kv       jetstream.KeyValue
	objects  jetstream.ObjectStore
	start    time.Time // The zero of moments.
	session  string

	lease     *lease
	directory *directory
	presence  *presences
	outbox    *outbox
	incoming  chan *natsgo.Msg
	counters  counters
	takes     atomic.Bool           // TakeOver.
	refusal   atomic.Pointer[error] // Of the newest attempt to connect that failed.

	encoding sync.Mutex // Of Publish.
	scratch  message.Scratch

	mu       sync.Mutex
	revision uint64 // Of the newest value of this process's key; 0: it has none.
	matches  map[string]*Match
	subs     map[string]*natsgo.Subscription
	lost     int // Messages that NATS dropped of subscriptions that are gone.

	end  context.CancelFunc
	done sync.WaitGroup
	shut sync.Once
}

// Stats has the counters of a Node.
type Stats struct {
	Received  uint64 // Messages for a loop of this process.
	Handled   uint64 // Messages whose handlers ran.
	Unknown   uint64 // Dropped: another build's message, or one without a handler here.
	Malformed uint64 // Dropped: no process of a fleet sends that.
	Full      uint64 // Dropped: too much waits for a loop.
	Greedy    uint64 // Dropped: too much of one sender waits for a loop.
	Late      uint64 // Dropped: they waited too long for their tick.
	Unsent    uint64 // Not sent: too much waits, or the connection is broken.
	Slow      uint64 // Dropped by NATS, because this process did not read in time.

	Renewed     uint64 // Renewals of the lease.
	NotRenewed  uint64 // Renewals that failed.
	Lapsed      uint64 // Leases that ended, so that another one had to be got.
	Held        uint64 // Frames of matches that did not run, for want of a lease.
	Lost        uint64 // Matches that another process took over.
	Buried      uint64 // Leases of others that this process ended: they were over.
	Taken       uint64 // Matches that this process took over.
	Disconnects uint64 // Times at which the connection to NATS broke.
	Foreign     uint64 // Values in the directory that no process of a fleet writes.
	Crowded     uint64 // Entries of the directory beyond what a process keeps.
	Watches     uint64 // Times at which the watch of the directory was begun again.
	Saved       uint64 // Checkpoints that were stored.
	Skipped     uint64 // Checkpoints that were not stored: the one before was still on its way, or it failed.
	RecordLost  uint64 // Bytes of recordings that were not stored: the store is too slow, or broken.
}

type counters struct {
	received, handled, unknown, malformed, slow, renewed, notRenewed, lapsed, held, lost, buried, taken, disconnects, watches, saved, skipped, recordLost atomic.Uint64
}

// ErrName means that another process of the fleet has this name, and its lease.
var ErrName = errors.New("nats: another process of the fleet has this name")

// Start connects a process to its fleet and gets its lease. It waits for NATS, for a quorum of its cluster, and for the lease of a former process
// with the same name. The errors are ErrConfig, ErrName, that of ctx, and those of NATS. End it with Close.
func Start(ctx context.Context, config Config) (*Node, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	config.Messages.freeze()
	n := &Node{
		config: config, start: time.Now(), lease: &lease{length: config.Lease}, directory: newDirectory(), outbox: newOutbox(config.Queue),
		incoming: make(chan *natsgo.Msg, config.Queue), matches: map[string]*Match{}, subs: map[string]*natsgo.Subscription{},
	}
	n.presence = newPresences(n)
	n.directory.heard = func(user string) {
		for _, m := range n.running() {
			m.heard(user)
		}
	}
	n.takes.Store(config.Orphan != nil)
	var random [8]byte
	_, _ = rand.Read(random[:])
	n.session = hex.EncodeToString(random[:])
	if err := n.open(ctx); err != nil {
		n.end = func() {}
		if why := n.refusal.Load(); why != nil {
			err = fmt.Errorf("%w: %w", err, *why)
		}
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// open connects, opens the stores, gets the lease and starts the goroutines.
func (n *Node) open(ctx context.Context) (err error) {
	if n.config.URL == "" {
		if n.embedded, err = embed(ctx, &n.config); err != nil {
			return err
		}
	}
	if err := n.connect(); err != nil {
		return fmt.Errorf("nats: %w", err)
	}
	if err := n.stores(ctx); err != nil {
		return err
	}
	if err := n.acquire(ctx); err != nil {
		return err
	}
	if err := errors.Join(n.subscribe("all"), n.subscribe("s."+n.config.Server)); err != nil {
		return err
	}
	inside, end := context.WithCancel(context.Background())
	n.end = end
	first := make(chan struct{})
	for _, run := range []func(context.Context){n.receive, n.send, n.keep, n.presence.run, func(ctx context.Context) { n.watch(ctx, first) }} {
		n.done.Add(1)
		go func() {
			defer n.done.Done()
			run(inside)
		}()
	}
	select {
	case <-first:
		return nil
	case <-ctx.Done():
		end()
		n.done.Wait()
		return ctx.Err()
	}
}

// stores opens the directory and the store of objects, once the cluster has a quorum.
func (n *Node) stores(ctx context.Context) error {
	js, err := jetstream.New(n.conn)
	if err != nil {
		return err
	}
	c := &n.config
	return n.retry(ctx, func(ctx context.Context) (err error) {
		n.kv, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: c.Fleet + "_directory", Replicas: c.Replicas, Storage: jetstream.FileStorage, MaxValueSize: maxValue, MaxBytes: 128 << 20, LimitMarkerTTL: markers,
		})
		if errors.Is(err, jetstream.ErrBucketExists) {
			n.kv, err = js.KeyValue(ctx, c.Fleet+"_directory")
		}
		if err != nil {
			return err
		}
		n.objects, err = js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: c.Fleet + "_objects", Replicas: c.Replicas, Storage: jetstream.FileStorage})
		if errors.Is(err, jetstream.ErrBucketExists) {
			n.objects, err = js.ObjectStore(ctx, c.Fleet+"_objects")
		}
		return err
	})
}

// retry calls f until it succeeds, or ctx is done, or another process has the name: a cluster that starts has no leader for a moment.
func (n *Node) retry(ctx context.Context, f func(ctx context.Context) error) error {
	for {
		one, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := f(one)
		cancel()
		if err == nil || errors.Is(err, ErrName) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// now reads both clocks.
func (n *Node) now() moment {
	t := time.Now()
	return moment{mono: t.Sub(n.start), wall: time.Duration(t.Round(0).UnixNano() - n.start.Round(0).UnixNano())}
}

// Close ends the node in order: it gives its matches, players and lease back, so that no other process waits for them, and ends the embedded server.
// End the loops of its matches first.
func (n *Node) Close() (err error) {
	n.shut.Do(func() {
		n.end()
		n.done.Wait()
		n.outbox.finish()
		if n.conn != nil {
			if n.kv != nil && n.lease.last() != 0 {
				n.release()
			}
			n.conn.Close()
		}
		n.lease.drop()
		if n.embedded != nil {
			err = n.embedded.close()
		}
	})
	return err
}

// release takes this process's keys out of the directory.
func (n *Node) release() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	for _, m := range n.running() {
		m.release(ctx)
	}
	n.presence.clear(ctx)
	n.mu.Lock()
	revision := n.revision
	n.mu.Unlock()
	if revision != 0 {
		_ = n.remove(ctx, serverKey(n.config.Server), revision)
	}
}

// subscribe takes the messages of a recipient. All subscriptions share one bounded queue, so none needs a goroutine of its own.
func (n *Node) subscribe(recipient string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.subs[recipient] != nil {
		return nil
	}
	sub, err := n.conn.ChanSubscribe(n.subject(recipient), n.incoming)
	if err == nil {
		n.subs[recipient] = sub
	}
	return err
}

// unsubscribe ends that.
func (n *Node) unsubscribe(recipient string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if sub := n.subs[recipient]; sub != nil {
		dropped, _ := sub.Dropped()
		n.lost += dropped
		_ = sub.Unsubscribe()
		delete(n.subs, recipient)
	}
}

// receive judges the messages that came, and passes each to the loops that it is for.
func (n *Node) receive(ctx context.Context) {
	var scratch message.Scratch
	for {
		select {
		case m := <-n.incoming:
			n.take(&scratch, m.Subject, m.Data)
		case <-ctx.Done():
			return
		}
	}
}

// take judges one message. The bytes may be anything.
func (n *Node) take(scratch *message.Scratch, subject string, data []byte) {
	var head envelope
	body, ok := head.read(data)
	if !ok {
		n.counters.malformed.Add(1)
		return
	}
	k := n.config.Messages.kinds[head.fingerprint]
	if k == nil || k.handle == nil {
		n.counters.unknown.Add(1)
		return
	}
	if !k.codec.Check(scratch, body) {
		n.counters.malformed.Add(1)
		return
	}
	it := item{kind: k, from: head.from, tick: head.tick, before: head.before, body: body, came: n.now().mono}
	recipient := n.recipient(subject)
	if token, of := strings.CutPrefix(recipient, "p."); of {
		it.player, _ = userOf(token)
	}
	for _, m := range n.running() {
		if m.wants(recipient, it.player) && m.inbox.push(it) {
			n.counters.received.Add(1)
		}
	}
}

// running returns the matches of this process.
func (n *Node) running() []*Match {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := make([]*Match, 0, len(n.matches))
	for _, m := range n.matches {
		list = append(list, m)
	}
	return list
}

// send passes the messages of the outbox to the connection.
func (n *Node) send(ctx context.Context) {
	for {
		select {
		case <-n.outbox.wake:
			for _, m := range n.outbox.take() {
				if n.conn.Publish(m.subject, m.data) != nil {
					n.outbox.drop()
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

// finish refuses further messages.
func (o *outbox) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.finished = true
}

// sends implements Sender.
func (n *Node) sends() (*Node, tick.Tick) { return n, 0 }

// Name is Config.Server.
func (n *Node) Name() string { return n.config.Server }

// TakeOver tells whether this process takes over matches from now on: a process that has as many as it can run says false. It begins with true, if
// there is a Config.Orphan; without one it stays false.
func (n *Node) TakeOver(on bool) { n.takes.Store(on && n.config.Orphan != nil) }

// Fence is the number of this process's lease, 0 without one. Later leases of any process have larger numbers: a database that refuses
// smaller ones than it has seen refuses a process that does not know yet that its lease is over.
func (n *Node) Fence() uint64 { return n.lease.held(n.now()) }

// Stats returns the counters.
func (n *Node) Stats() Stats {
	c := &n.counters
	s := Stats{
		Received: c.received.Load(), Handled: c.handled.Load(), Unknown: c.unknown.Load(), Malformed: c.malformed.Load(), Renewed: c.renewed.Load(),
		NotRenewed: c.notRenewed.Load(), Lapsed: c.lapsed.Load(), Held: c.held.Load(), Lost: c.lost.Load(), Buried: c.buried.Load(), Taken: c.taken.Load(),
		Disconnects: c.disconnects.Load(), Watches: c.watches.Load(), Saved: c.saved.Load(), Skipped: c.skipped.Load(), RecordLost: c.recordLost.Load(),
	}
	for _, m := range n.running() {
		m.inbox.add(&s)
	}
	n.mu.Lock()
	s.Slow = uint64(n.lost)
	for _, sub := range n.subs {
		dropped, _ := sub.Dropped()
		s.Slow += uint64(dropped)
	}
	n.mu.Unlock()
	n.outbox.mu.Lock()
	s.Unsent = n.outbox.dropped
	n.outbox.mu.Unlock()
	n.directory.mu.Lock()
	s.Foreign, s.Crowded = n.directory.foreign, n.directory.full
	n.directory.mu.Unlock()
	return s
}
