package rowtest

import (
	"flag"
	"math/rand/v2"
	"testing"
)

// fuzzSeeds is the number of seeds of Fuzz. A property takes what it draws from their bytes, eight for each draw: they are of 1 to 64 KiB.
const fuzzSeeds = 28

// Fuzz makes a fuzz target of rapid.MakeFuzz of a property. It fails unless some of its seeds are long enough for all that the property draws.
func Fuzz(f *testing.F, property func(t *testing.T, data []byte)) {
	for seed := range byte(fuzzSeeds) {
		data := make([]byte, 1<<(10+seed%7))
		_, _ = rand.NewChaCha8([32]byte{seed}).Read(data) // never fails
		f.Add(data)
	}
	whole := 0
	f.Fuzz(func(t *testing.T, data []byte) {
		property(t, data) // skips what is too short
		whole++
	})
	if whole == 0 && flag.Lookup("test.fuzz").Value.String() == "" {
		f.Fatal("rowtest: no seed was long enough for the property: make them larger in rowtest.Fuzz")
	}
}
