package alloctest

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

const (
	mostSites  = 10 // Maximum number of call stacks in a failure.
	mostFrames = 8  // Maximum number of functions of each.
)

// stack is the call stack of an allocation.
type stack [32]uintptr

// site is the allocations of one call stack.
type site struct{ objects, bytes int64 }

// profile is the memory profile by call stack. Its numbers never decrease.
type profile map[stack]site

// readProfile reads the present memory profile. The runtime publishes a sample only after two garbage collections.
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

// line is the allocations of one call stack between two profiles.
type line struct {
	site
	at     stack
	frames []runtime.Frame
}

// since returns the stacks that allocated since before was read, most allocations first. own counts the runtime's own
// allocations, which are not listed: the scavenger's timer, a thread.
func (p profile) since(before profile) (lines []line, own site) {
	for at, s := range p {
		old := before[at]
		if s.objects <= old.objects {
			continue
		}
		l := line{site{s.objects - old.objects, s.bytes - old.bytes}, at, at.frames()}
		switch {
		case l.within("/internal/alloctest.(*Counter).turn"):
		case l.background():
			own.objects += l.objects
			own.bytes += l.bytes
		default:
			lines = append(lines, l)
		}
	}
	slices.SortFunc(lines, func(a, b line) int {
		if a.objects != b.objects {
			return int(b.objects - a.objects)
		}
		return slices.Compare(a.at[:], b.at[:])
	})
	return lines, own
}

// listed formats lines. It includes the runtime's function that shows what was allocated: a slice that grew, a closure, a map.
func listed(lines []line) string {
	var b strings.Builder
	for i, l := range lines {
		if i == mostSites {
			fmt.Fprintf(&b, "and %d other call stacks\n", len(lines)-i)
			break
		}
		fmt.Fprintf(&b, "%d allocations, %d bytes:\n", l.objects, l.bytes)
		n := 0
		for _, f := range l.frames {
			if n < mostFrames && f.Function != "runtime.mallocgc" {
				fmt.Fprintf(&b, "\t%s\n\t\t%s:%d\n", f.Function, f.File, f.Line)
				n++
			}
		}
	}
	return b.String()
}

// frames returns the functions of a stack, innermost first.
func (s *stack) frames() (all []runtime.Frame) {
	n := slices.Index(s[:], 0)
	if n < 0 {
		n = len(s)
	}
	for next := runtime.CallersFrames(s[:n]); ; {
		f, more := next.Next()
		all = append(all, f)
		if !more {
			return all
		}
	}
}

func inRuntime(f runtime.Frame) bool { return strings.HasPrefix(f.Function, "runtime.") }

// within reports whether a function is on the stack, by the suffix of its name.
func (l *line) within(name string) bool {
	return slices.ContainsFunc(l.frames, func(f runtime.Frame) bool { return strings.HasSuffix(f.Function, name) })
}

// background reports whether the runtime allocated for itself. It does so in its own goroutines, for its pool of records of
// waiting goroutines, and for the cache of a type assertion, which it fills at random with one miss of a thousand. The start of a
// goroutine counts as the caller's.
func (l *line) background() bool {
	for _, name := range []string{"runtime.ReadMemStats", "runtime.buildTypeAssertCache", "runtime.buildInterfaceSwitchCache", "runtime.acquireSudog"} {
		if l.within(name) {
			return true
		}
	}
	return !l.within("runtime.newproc1") && !slices.ContainsFunc(l.frames, func(f runtime.Frame) bool { return !inRuntime(f) })
}
