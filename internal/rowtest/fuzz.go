package rowtest

import (
	"flag"
	"math/rand/v2"
	"testing"
)

// The seeds of Fuzz: a property takes what it draws from these bytes.
const (
	fuzzSeeds = 24
	fuzzBytes = 1 << 12
)

// Fuzz makes a fuzz target of rapid.MakeFuzz of a property. It fails unless some of its seeds are long enough for all that the property draws.
func Fuzz(f *testing.F, property func(t *testing.T, data []byte)) {
	for seed := range uint64(fuzzSeeds) {
		random := rand.New(rand.NewPCG(seed, 0xF022))
		data := make([]byte, fuzzBytes)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		if seed%2 > 0 { // small numbers: few rows, and so more of what is at the ends of loops
			for i := 1; i < len(data); i += 2 {
				data[i] = 0
			}
		}
		f.Add(data)
	}
	whole := 0
	f.Fuzz(func(t *testing.T, data []byte) {
		property(t, data) // skips what is too short
		whole++
	})
	if whole == 0 && flag.Lookup("test.fuzz").Value.String() == "" {
		f.Fatal("rowtest: no seed was long enough for the property: make fuzzBytes larger")
	}
}
