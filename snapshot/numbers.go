package snapshot

// Lives have numbers. What is new of a run of entities is known without asking each of them where their lives lie one behind
// the other as they do (cover.go). So a life goes where those of the indexes around it lead to, whatever the order in
// which they came: when packets were lost while a client joined, it finds its place free.

// numbers is which lives there are.
type numbers struct {
	free  int32 // the first of those that were used and are free, -1 = none; they are linked by lower and depth
	used  int
	shift int // how far behind its index the number of a life lies, of those without a neighbour
}

// spareLives is how many places may be left free for lives to come, beside as many as there are.
const spareLives = 256

// newLife is a free life for an index.
func (r *Replica) newLife(index uint32) int32 {
	n := r.numberFor(index)
	if n < 0 {
		if n = r.numbers.free; n < 0 {
			n = int32(len(r.lives))
		}
		if r.heads[index] < 0 {
			r.numbers.shift = int(index) - int(n)
		}
	}
	for int(n) >= len(r.lives) {
		r.lives, r.olds.heads = append(r.lives, life{lower: -1, depth: -1}), append(r.olds.heads, older{})
	}
	r.unfree(n)
	r.numbers.used++
	return n
}

// numberFor is the number that a life of an index should have, -1 where that is not free.
func (r *Replica) numberFor(index uint32) int32 {
	if r.numbers.used == 0 {
		r.numbers.shift = max(int(index)-spareLives, 0)
	}
	n := -1
	if index > 0 && r.heads[index-1] >= 0 {
		n = int(r.heads[index-1]) + 1
	} else if int(index)+1 < len(r.heads) && r.heads[index+1] >= 0 {
		n = int(r.heads[index+1]) - 1
	}
	if !r.mayNumber(n) {
		n = int(index) - r.numbers.shift
	}
	if !r.mayNumber(n) {
		return -1
	}
	return int32(n)
}

// mayNumber reports whether a number is free, and not so large that memory would be left unused.
func (r *Replica) mayNumber(n int) bool {
	if n >= 0 && n < len(r.lives) {
		return r.lives[n].generation == 0
	}
	return n >= 0 && n <= 2*r.numbers.used+spareLives
}

// freeLife makes a life one that nobody has.
func (r *Replica) freeLife(n int32) {
	r.lives[n] = life{lower: r.numbers.free, depth: -1}
	if r.numbers.free >= 0 {
		r.lives[r.numbers.free].depth = n
	}
	r.numbers.free = n
	r.numbers.used--
}

// unfree takes a life out of those that were used and are free, if it is one of them.
func (r *Replica) unfree(n int32) {
	l := &r.lives[n]
	if l.depth < 0 && r.numbers.free != n {
		return
	}
	if l.lower >= 0 {
		r.lives[l.lower].depth = l.depth
	}
	if l.depth >= 0 {
		r.lives[l.depth].lower = l.lower
	} else {
		r.numbers.free = l.lower
	}
}
