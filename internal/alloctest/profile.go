package alloctest

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

const (
	mostSites  = 10 // Call stacks that a failure lists.
	mostFrames = 8  // Functions that it lists of each.
)

// stack is the call stack of an allocation.
type stack [32]uintptr

// site is what one call stack allocated.
type site struct{ objects, bytes int64 }

// profile holds the memory profile by call stack. Its numbers never fall.
type profile map[stack]site

// readProfile reads the memory profile as of now. The runtime publishes a sample only after two garbage collections.
func readProfile() profile {
	runtime.GC()
	runtime.GC()
	n, _ := runtime.MemProfile(nil, true)
	for {
		records := make([]runtime.MemProfileRecord, n+50)
		var ok bool
		if n, ok = runtime.MemProfile(records, true); !ok {
			continue
		}
		p := make(profile, n)
		for i := range records[:n] {
			r := &records[i]
			s := p[r.Stack0]
			p[r.Stack0] = site{s.objects + r.AllocObjects, s.bytes + r.AllocBytes}
		}
		return p
	}
}

// since lists the stacks that allocated after before was read, the busiest first.
func (p profile) since(before profile) string {
	type line struct {
		site
		at stack
	}
	var lines []line
	for at, s := range p {
		if old := before[at]; s.objects > old.objects {
			lines = append(lines, line{site{s.objects - old.objects, s.bytes - old.bytes}, at})
		}
	}
	slices.SortFunc(lines, func(a, b line) int {
		if a.objects != b.objects {
			return int(b.objects - a.objects)
		}
		return slices.Compare(a.at[:], b.at[:])
	})
	var b strings.Builder
	for i, l := range lines {
		if i == mostSites {
			fmt.Fprintf(&b, "and %d other call stacks\n", len(lines)-i)
			break
		}
		fmt.Fprintf(&b, "%d allocations, %d bytes:\n%s", l.objects, l.bytes, l.at.frames())
	}
	return b.String()
}

// frames lists the functions of a stack, the innermost first, without those of the runtime, this package and testing.
func (s *stack) frames() string {
	n := slices.Index(s[:], 0)
	if n < 0 {
		n = len(s)
	}
	var b strings.Builder
	listed := 0
	for frames := runtime.CallersFrames(s[:n]); listed < mostFrames; {
		f, more := frames.Next()
		if f.Function != "" && !strings.HasPrefix(f.Function, "runtime.") && !strings.HasPrefix(f.Function, "testing.") {
			fmt.Fprintf(&b, "\t%s\n\t\t%s:%d\n", f.Function, f.File, f.Line)
			listed++
		}
		if !more {
			break
		}
	}
	return b.String()
}
