//go:build !amd64 || purego

package wire

import "sync/atomic"

// Nobody comes here: wide says no.

func takeWide(_ *Column, k, _ int, _ *uint32, _ *Held) int { return k }

func writeWide(s *Strands, _ *Column, _ *tokenTables, _, _, _, _ uint64) (left uint64) {
	return 1<<s.n - 1
}

func beginWide(*Strands, *Column, int, *atomic.Uint32, uint64, uint64) (done int) { return 0 }
