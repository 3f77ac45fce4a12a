package wire

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// PanicError means that a Serialize method panics on a zero value. A message is zero before it is read, so it could
// never be received.
type PanicError struct {
	Type  reflect.Type // of the message
	Value any          // of the panic
}

// Error names the type and the cure.
func (e *PanicError) Error() string {
	return fmt.Sprintf("wire: (*%s).Serialize panics on a zero value, which each message is before it is read: %v: "+
		"allocate what is nil before its use (if m.Field == nil { m.Field = new(T) }), give it to wire.SerializeOptional, or hold it by value", e.Type.Name(), e.Value)
}

// errUneven means that a Serialize method does not read what it wrote.
var errUneven = errors.New("wire: Serialize does not read what it writes")

// Layout returns the layout of the bytes that a Serialize method reads: each call with the path of its value, its kind and
// its bounds. fresh returns a new zero value. debug turns packing off, as Serializer.Debug does.
//
//	Text:string200;At:{X:f32;Y:f32};Tags:[..8]u8;Moves:bool?{Speed:f32half};Kind:u8?{1:Hits:u16|*:}
//
// It runs the method many times without bytes. A branch on a boolean, on a number or on the count of a list shows when
// the method is run with other values: 0 to 31 and the limits of a number, and if one of 8 bits matters all its values. A branch on anything else, such as the contents
// of a text, does not show, and neither does one on two values together; a value that a branch depends on in a way that
// has no form ends in a question mark. PROTOCOL.md has all forms.
//
// The errors are a *PanicError, and one for a method that reads other calls than it writes.
func Layout(fresh func() Serializable, debug bool) (string, error) {
	t := reflect.TypeOf(fresh())
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	e := explorer{shared: &probing{left: maxProbes, known: map[string]string{}}, types: []reflect.Type{t}, fresh: fresh, debug: debug}
	written, read := e.run(writing, nil), e.run(reading, nil)
	for _, r := range []outcome{written, read} {
		if wrong, ok := r.panicked.(misuse); ok {
			return "", wrong
		}
		if r.panicked != nil {
			return "", &PanicError{Type: t, Value: r.panicked}
		}
	}
	if err := e.compare(written, t); err != nil {
		return "", err
	}
	text := e.text(nil, read.calls)
	if read.tooLong {
		text += ";..."
	}
	return text, nil
}

// explorer finds the layout of one type.
type explorer struct {
	shared *probing
	types  []reflect.Type // of the enclosing layouts and of this one
	fresh  func() Serializable
	debug  bool
}

// outcome is the result of a run.
type outcome struct {
	calls           []probed
	failed, tooLong bool
	panicked        any
}

// run runs the method once on a fresh value. choices are values by the number of their call.
func (e *explorer) run(way direction, choices map[int]int64) (o outcome) {
	v := e.fresh()
	root := reflect.ValueOf(v)
	if root.Kind() == reflect.Pointer {
		root = root.Elem()
	}
	p := &probe{shared: e.shared, choices: choices, roots: []reflect.Value{root}, types: e.types}
	s := &Serializer{direction: way, debug: e.debug, probe: p}
	defer func() {
		reason := recover()
		if _, stopped := reason.(stopProbe); !stopped {
			o.panicked = reason
		}
		o.calls, o.failed, o.tooLong = p.calls, p.failed, p.tooLong
	}()
	v.Serialize(s)
	return o
}

// compare reads the values that the zero value wrote. The calls must be those of writing.
func (e *explorer) compare(written outcome, t reflect.Type) error {
	choices := map[int]int64{}
	for i := range written.calls {
		choices[i] = written.calls[i].value
	}
	read := e.run(reading, choices)
	if written.failed || read.failed || written.tooLong || read.panicked != nil {
		return nil // the method refuses its zero value
	}
	for i := range max(len(read.calls), len(written.calls)) {
		if i < len(read.calls) && i < len(written.calls) && read.calls[i].kind == written.calls[i].kind {
			continue
		}
		of := func(calls []probed) string {
			if i < len(calls) {
				return calls[i].path + ":" + calls[i].kind
			}
			return "nothing more"
		}
		return fmt.Errorf("%w: (*%s).Serialize writes %s where it reads %s: make the same calls in the same order for both", errUneven, t.Name(), of(written.calls), of(read.calls))
	}
	return nil
}

// text returns the layout of a run's calls.
func (e *explorer) text(choices map[int]int64, calls []probed) string {
	w := layoutWriter{explorer: e}
	w.write(choices, calls, 0, len(calls), 0)
	return string(w.text)
}

// maxBranches bounds the nesting of branches.
const maxBranches = 6

// layoutWriter writes a layout.
type layoutWriter struct {
	*explorer
	text []byte
}

// write writes the calls from one to another of a run with these choices, each with its branches.
func (w *layoutWriter) write(choices map[int]int64, calls []probed, from, to, depth int) {
	for i := from; i < to; i++ {
		c := &calls[i]
		if c.kind == "}" {
			w.text = append(w.text, '}')
			continue
		}
		if n := len(w.text); n > 0 && !strings.ContainsRune("{|:", rune(w.text[n-1])) {
			w.text = append(w.text, ';')
		}
		w.text = append(append(append(w.text, c.path...), ':'), c.kind...)
		if w.shared.left > 0 && c.tries != tryNone {
			i += w.branch(choices, calls, i, to, depth)
		}
	}
}

// arm is a run in which a call has other values.
type arm struct {
	values []int64
	calls  []probed // of the whole run
}

// branch writes what depends on the value of a call, and returns the number of calls after it that are written with it.
func (w *layoutWriter) branch(choices map[int]int64, calls []probed, i, to, depth int) (skip int) {
	arms := w.arms(choices, calls, i)
	if len(arms) == 1 {
		return 0
	}
	c := &calls[i]
	if c.tries == tryCount {
		return w.list(choices, arms, i, depth)
	}
	end := commonEnd(arms, i+1)
	if end < 0 || len(calls)-end > to || depth == maxBranches || c.tries == tryOne && c.kind != "bool" {
		w.text = append(w.text, '?')
		return 0
	}
	w.text = append(w.text, "?{"...)
	if c.kind == "bool" {
		slices.Reverse(arms)
	}
	rest := w.rest(c, arms)
	for n, a := range arms {
		if n > 0 && c.kind == "bool" && len(a.calls)-end == i+1 {
			continue
		}
		if n > 0 {
			w.text = append(w.text, '|')
		}
		switch {
		case c.kind == "bool":
		case rest && n == len(arms)-1:
			w.text = append(w.text, "*:"...)
		default:
			w.text = append(appendValues(w.text, a.values), ':')
		}
		w.write(chosen(choices, i, a.values[0]), a.calls, i+1, len(a.calls)-end, depth+1)
	}
	w.text = append(w.text, '}')
	return len(calls) - end - i - 1
}

// rest moves the arm of the largest value to the end if it stands for all values that were not tried.
func (w *layoutWriter) rest(c *probed, arms []arm) bool {
	tried := triedValues(c)
	largest := tried[len(tried)-1]
	if c.tries == tryRange && largest-c.low < math.MaxUint8 || c.kind == "bool" {
		return false
	}
	at := slices.IndexFunc(arms, func(a arm) bool { return slices.Contains(a.values, largest) })
	if at < 0 {
		return false
	}
	last := arms[at]
	copy(arms[at:], arms[at+1:])
	arms[len(arms)-1] = last
	return true
}

// list writes the elements that a count announces: none, one and two must differ by equal elements.
func (w *layoutWriter) list(choices map[int]int64, arms []arm, i, depth int) (skip int) {
	none := arms[0].calls[i+1:]
	if len(arms) == 3 && depth < maxBranches {
		one, two := arms[1].calls[i+1:], arms[2].calls[i+1:]
		if n := len(one) - len(none); n > 0 && sameCalls(one[n:], none) && len(two) == len(none)+2*n &&
			sameCalls(two[n:], one) && sameCalls(two[:n], one[:n]) && balanced(one[:n]) {
			w.text = append(w.text, "?{"...)
			w.write(chosen(choices, i, 1), arms[1].calls, i+1, i+1+n, depth+1)
			w.text = append(w.text, '}')
			return 0
		}
	}
	w.text = append(w.text, '?')
	return 0
}

// arms returns the runs with other values of a call, equal ones once, the given run first. Values that the method refuses
// are left out.
func (w *layoutWriter) arms(choices map[int]int64, calls []probed, i int) []arm {
	c := &calls[i]
	all := []arm{{values: []int64{c.value}, calls: calls}}
	tried := triedValues(c)
	for n := 0; n < len(tried); n++ {
		value := tried[n]
		if n == len(tried)-1 && len(all) > 1 && len(tried) < 1<<8 { // The method looks at it: of 8 bits, all values are tried.
			tried = append(tried, others(c, tried)...)
		}
		if value == c.value || w.shared.left <= 0 {
			continue
		}
		o := w.run(reading, chosen(choices, i, value))
		if o.failed || o.tooLong || o.panicked != nil || len(o.calls) <= i {
			continue
		}
		at := slices.IndexFunc(all, func(a arm) bool { return sameCalls(a.calls[i+1:], o.calls[i+1:]) })
		if at < 0 {
			at, all = len(all), append(all, arm{calls: o.calls})
		}
		all[at].values = append(all[at].values, value)
	}
	return all
}

// chosen returns choices with one more.
func chosen(choices map[int]int64, i int, value int64) map[int]int64 {
	all := map[int]int64{i: value}
	maps.Copy(all, choices)
	return all
}

// triedMost is the largest number that is tried of every integer.
const triedMost = 31

// triedValues returns the other values of a call that are tried.
func triedValues(c *probed) (values []int64) {
	switch c.tries {
	case tryOne:
		return []int64{1}
	case tryCount:
		return []int64{1, 2}
	case tryRange:
		for v := c.low; v < c.high && v-c.low < math.MaxUint8; v++ {
			values = append(values, v)
		}
		return append(values, c.high)
	}
	for v := int64(0); v <= triedMost; v++ {
		values = append(values, v)
	}
	bits, _ := strconv.Atoi(strings.TrimRight(c.kind[1:], "packedun"))
	if c.kind[0] == 'i' && bits > 0 {
		return append(values, -1, math.MinInt64>>(64-bits), math.MaxInt64>>(64-bits))
	}
	return append(values, int64(uint64(math.MaxUint64)>>max(64-bits, 1)))
}

// others returns the values of an integer of 8 bits that are not among those that were tried.
func others(c *probed, tried []int64) (values []int64) {
	low := int64(0)
	switch {
	case c.tries != tryMany:
		return nil
	case c.kind == "i8":
		low = math.MinInt8
	case c.kind != "u8":
		return nil
	}
	for v := low; v < low+1<<8; v++ {
		if !slices.Contains(tried, v) {
			values = append(values, v)
		}
	}
	return values
}

// appendValues appends numbers, runs of them as 1..3.
func appendValues(dst []byte, values []int64) []byte {
	slices.Sort(values)
	for i := 0; i < len(values); {
		last := i
		for last+1 < len(values) && values[last+1] == values[last]+1 {
			last++
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, values[i], 10)
		if last > i {
			dst = strconv.AppendInt(append(dst, ".."...), values[last], 10)
		}
		i = last + 1
	}
	return dst
}

// commonEnd returns the largest number of calls at the end that all arms have in common, so that the calls before them,
// from one on, close what they open; -1 if there is none.
func commonEnd(arms []arm, from int) int {
	first := arms[0].calls[from:]
	n := len(first)
	for _, a := range arms[1:] {
		other, same := a.calls[from:], 0
		for same < min(len(first), len(other)) && first[len(first)-1-same].same(&other[len(other)-1-same]) {
			same++
		}
		n = min(n, same)
	}
	for ; n >= 0; n-- {
		if !slices.ContainsFunc(arms, func(a arm) bool { return !balanced(a.calls[from : len(a.calls)-n]) }) {
			return n
		}
	}
	return -1
}

// balanced reports whether calls close what they open, and nothing else.
func balanced(calls []probed) bool {
	open := 0
	for i := range calls {
		switch calls[i].kind {
		case "{":
			open++
		case "}":
			open--
		}
		if open < 0 {
			return false
		}
	}
	return open == 0
}

// sameCalls reports whether two lists of calls are equal.
func sameCalls(a, b []probed) bool {
	return slices.EqualFunc(a, b, func(a, b probed) bool { return a.same(&b) })
}
