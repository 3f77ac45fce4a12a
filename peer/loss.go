package peer

// lossMemory is the largest number of outcomes in the loss estimate.
const lossMemory = 256

// lossRate estimates which share of the eliciting packets is lost, over about
// the last lossMemory of them. At that number both counts are halved: old
// outcomes fade, and nothing has to be remembered about each.
type lossRate struct {
	settled int
	lost    int
}

func (l *lossRate) add(lost bool) {
	if l.settled >= lossMemory {
		l.settled /= 2
		l.lost /= 2
	}
	l.settled++
	if lost {
		l.lost++
	}
}

// withdraw takes one loss back: its packet was acknowledged after all.
func (l *lossRate) withdraw() {
	l.lost = max(l.lost-1, 0)
}

// rate is between 0 and 1; 0 while nothing is known.
func (l *lossRate) rate() float64 {
	if l.settled == 0 {
		return 0
	}
	return float64(l.lost) / float64(l.settled)
}
