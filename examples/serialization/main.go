// Command serialization puts the input of a platform fighter on the wire: 36 bytes of struct become 5.
//
// It prints what two messages take in memory, on the wire and as JSON, what was read back, and how far that is from what
// was written. It fails if anything is farther off than it says.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/wire"
)

// axisError is the largest error of an axis: half of one of its 254 steps from -1 to 1, and float32's own rounding.
const axisError = 0.5/127 + 1e-7

func main() {
	if len(os.Args) > 1 {
		fmt.Fprintf(os.Stderr, "serialization: unexpected argument %q: it takes none\n", os.Args[1])
		os.Exit(2)
	}
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "serialization:", err)
		os.Exit(1)
	}
}

func run(out io.Writer) error {
	if err := showInput(out); err != nil {
		return err
	}
	return showJoysticks(out)
}

// showInput writes an input, reads it back and compares.
func showInput(out io.Writer) error {
	in := Input{Move: components.Vector2{X: 0.3, Y: -0.71}, Smash: components.Vector2{X: -1, Y: 0.123456}, Attack: 1, Grab: 1}
	var packet [16]byte
	w := wire.NewWriter(packet[:])
	in.Write(&w)
	if w.Err() != nil {
		return w.Err()
	}
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	memory, size := int(reflect.TypeFor[Input]().Size()), len(w.Written())
	fmt.Fprintf(out, "Input: %d bytes in memory, %d on the wire (%.1f times less), %d as JSON\n", memory, size, float64(memory)/float64(size), len(text))
	fmt.Fprintf(out, "  on the wire  % x\n", w.Written())

	var back Input
	r := wire.NewReader(w.Written())
	if err := back.Read(&r); err != nil {
		return err
	}
	if !r.Done() {
		return errors.New("bytes are left")
	}
	worst := in.distance(&back)
	fmt.Fprintf(out, "  written      Move %v Smash %v buttons %05b\n", in.Move, in.Smash, in.buttons())
	fmt.Fprintf(out, "  read back    Move %v Smash %v buttons %05b\n", back.Move, back.Smash, back.buttons())
	fmt.Fprintf(out, "  an axis is off by %.5f at most; half a step is %.5f\n", worst, 0.5/127)
	if !(worst <= axisError) || back.buttons() != in.buttons() {
		return fmt.Errorf("read back %+v, written %+v", back, in)
	}
	return nil
}

// showJoysticks does the same for two whole vectors, which come back exactly.
func showJoysticks(out io.Writer) error {
	for _, sticks := range []TwinJoysticks{
		{},
		{Left: components.Vector2{X: 0.314159, Y: -0.271828}, Right: components.Vector2{X: -0.141421, Y: 0.577215}},
	} {
		var packet [32]byte
		var s wire.Serializer
		n, err := s.Write(packet[:], &sticks)
		if err != nil {
			return err
		}
		text, err := json.Marshal(sticks)
		if err != nil {
			return err
		}
		var back TwinJoysticks
		if err := s.Read(packet[:n], &back); err != nil {
			return err
		}
		if back != sticks {
			return fmt.Errorf("read back %+v, written %+v", back, sticks)
		}
		fmt.Fprintf(out, "TwinJoysticks: %d bytes on the wire, read back exactly; %d as JSON: %s\n", n, len(text), text)
	}
	return nil
}

// distance returns the largest difference of an axis of the two.
func (i *Input) distance(other *Input) (worst float64) {
	a, b := i.axes(), other.axes()
	for k := range a {
		worst = math.Max(worst, math.Abs(float64(*a[k])-float64(*b[k])))
	}
	return worst
}
