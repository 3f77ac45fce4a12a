//go:build !amd64 || purego

package wire

// These are never called: see wide.

func findWide(*Strands, *wideColumn, *wideColumn, *wideColumn, *wideTops, uint16, uint16) {}

func goOnWide(_, _, _ *wideColumn, _ int, _, _, _ float64) {}

func aimWide(*Strands, *Column, *turnNumbers) {}

func partsWide(*Strands, *Column, *turnNumbers) {}
