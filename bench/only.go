package main

import (
	"slices"
	"strings"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/internal/usage"
)

// checkOnly reports, before anything is measured, that -only names no line of the scenario that runs.
func (o *options) checkOnly(scenario string) error {
	var lines []string
	switch {
	case o.only == "":
		return nil
	case scenario == "bytes":
		lines = bytesLines()
	case scenario == "loss":
		lines = lossLines()
	case scenario == "real":
		lines = realLines()
	case scenario == "published":
		lines = publishedLines()
	default:
		return usage.Errorf("-only %s: it chooses from the lines of one scenario, with -run bytes, -run loss, -run real or -run published", o.only)
	}
	if !slices.Contains(lines, o.only) {
		return usage.Errorf("-only %s: the scenario %s has no such line; its lines are %s", o.only, scenario, strings.Join(lines, ", "))
	}
	return nil
}

// bytesLines is the names of the lines of the scenario bytes.
func bytesLines() (names []string) {
	for _, v := range byteVariants(options{}, nil, new(delta.Tables)) {
		if !slices.Contains(names, v.name) {
			names = append(names, v.name)
		}
	}
	return names
}

// lossLines is the names of the networks of the scenario loss that have one: see lossPoint.name.
func lossLines() (names []string) {
	for _, p := range lossPoints() {
		if p.burst.Length == 0 {
			names = append(names, p.label())
		}
	}
	return names
}
