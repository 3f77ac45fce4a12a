package systems

import "fmt"

// faults keeps a socket that stays broken from being reported in every frame.
type faults struct{ last string }

// report passes a fault on unless it is the one that was reported last.
func (f *faults) report(end End, doing string, err error) {
	if text := err.Error(); text != f.last {
		f.last = text
		end.Report(fmt.Errorf("netcode: %s: %w", doing, err))
	}
}
