package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// result is one measured line. Anchor is what the value is held against, Ratio is value over anchor; Target limits the
// value or the ratio, as valueTarget and ratioTarget set it. Absent ones are null: a scenario without a target cannot be "ok".
type result struct {
	Scenario string         `json:"scenario"`
	Params   map[string]any `json:"params"`
	Value    float64        `json:"value"`
	Unit     string         `json:"unit"`
	Anchor   *float64       `json:"anchor"`
	Ratio    *float64       `json:"ratio"`
	Target   *float64       `json:"target"`
	OK       *bool          `json:"ok"`
	Main     bool           `json:"main,omitempty"`
}

// against sets the anchor and the ratio.
func (r result) against(anchor float64) result {
	ratio := r.Value / anchor
	r.Anchor, r.Ratio = &anchor, &ratio
	return r
}

// ratioTarget demands that the ratio is at most target and that everything the scenario verifies held.
func (r result) ratioTarget(target float64, verified bool) result {
	ok := verified && r.Ratio != nil && *r.Ratio <= target
	r.Target, r.OK = &target, &ok
	return r
}

// valueTarget demands that the value is at most target and that everything the scenario verifies held.
func (r result) valueTarget(target float64, verified bool) result {
	ok := verified && r.Value <= target
	r.Target, r.OK = &target, &ok
	return r
}

// short is a number for a reader's eye.
func short(v float64) string {
	if math.Abs(v) < 10 {
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

// print writes the line, as JSON or for a reader's eye.
func (r result) print(out io.Writer, asJSON bool) {
	if asJSON {
		line, err := json.Marshal(r)
		if err != nil {
			// Only a NaN or an infinity gets here: a measurement that was never made.
			line = fmt.Appendf(nil, `{"scenario":%q,"error":%q}`, r.Scenario, err)
		}
		fmt.Fprintf(out, "%s\n", line)
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s %12s %-10s", r.Scenario, short(r.Value), r.Unit)
	if r.Ratio != nil {
		fmt.Fprintf(&b, " anchor %10s ratio %6.2f", short(*r.Anchor), *r.Ratio)
	}
	if r.OK != nil {
		fmt.Fprintf(&b, " target %5s ok=%v", short(*r.Target), *r.OK)
	}
	names := make([]string, 0, len(r.Params))
	for name := range r.Params {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, " %s=%v", name, r.Params[name])
	}
	fmt.Fprintln(out, b.String())
}
