package rowtest

import (
	"flag"
	"math/rand/v2"
	"testing"
)

// fuzzSeeds is the number of seeds of Fuzz, of 1 to 64 KiB. A property uses eight bytes of them for each random draw.
const fuzzSeeds = 14

// Fuzz runs the fuzz target that rapid.MakeFuzz made of a property. It fails if no seed is long enough for all draws of the
// property.
func Fuzz(f *testing.F, property func(t *testing.T, data []byte)) {
	for seed := range byte(fuzzSeeds) {
		data := make([]byte, 1<<(10+seed%7))
		_, _ = rand.NewChaCha8([32]byte{seed}).Read(data) // never fails
		f.Add(data)
	}
	whole := 0
	f.Fuzz(func(t *testing.T, data []byte) {
		property(t, data) // skips seeds that are too short
		whole++
	})
	if whole == 0 && flag.Lookup("test.fuzz").Value.String() == "" {
		f.Fatal("rowtest: no seed was long enough for the property: make them larger in rowtest.Fuzz")
	}
}
