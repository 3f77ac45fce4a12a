package peer

// Pool lends the buffers in which messages wait beyond each peer's own first one. All peers of an end share it. It belongs
// to one goroutine.
type Pool struct {
	free [][]byte
	size int
}

// poolKeep is how many buffers that nobody uses a pool keeps.
const poolKeep = 256

// NewPool returns an empty pool of buffers for packets of at most packetSize bytes.
func NewPool(packetSize int) *Pool { return &Pool{size: packetSize} }

// take returns an empty buffer of capacity size.
func (p *Pool) take(size int) []byte {
	n := len(p.free)
	if n == 0 || size > p.size {
		return make([]byte, 0, max(size, p.size))[:0:size]
	}
	b := p.free[n-1]
	p.free = p.free[:n-1]
	return b[:0:size]
}
