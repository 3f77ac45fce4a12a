package peer

import "sync"

// Pool lends the buffers in which messages wait beyond each peer's own first one. All peers of an end share it, also
// those that fill packets in several goroutines at once.
type Pool struct {
	mutex sync.Mutex
	free  [][]byte
	size  int
	lent  int
}

// poolKeep is the largest size of unused buffers in a pool, in bytes: 64 peers whose queues are full in every
// frame never make it allocate.
const poolKeep = 8 << 20

// NewPool returns an empty pool of buffers for packets of at most packetSize bytes. Peers with larger packets allocate
// theirs.
func NewPool(packetSize int) *Pool { return &Pool{size: packetSize} }

// Lent returns how many buffers are in use.
func (p *Pool) Lent() int { return p.lent }

// take returns an empty buffer of capacity size or more.
func (p *Pool) take(size int) []byte {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.lent++
	n := len(p.free)
	if n == 0 || size > p.size {
		return make([]byte, 0, max(size, p.size))
	}
	b := p.free[n-1]
	p.free = p.free[:n-1]
	return b
}

// giveBack takes a buffer that take returned. One of another size than the pool's is let go.
func (p *Pool) giveBack(b []byte) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.lent--
	if cap(b) == p.size && len(p.free)*p.size < poolKeep {
		p.free = append(p.free, b[:0])
	}
}
