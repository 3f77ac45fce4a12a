package casebook

import (
	"fmt"
	"testing"
)

// mark begins the line of a log that Injected writes.
const mark = "injected: "

// Injected logs how often a test injected a fault. It fails the test if the number is 0.
func Injected[N ~int | ~int64 | ~uint64 | ~uint32](t testing.TB, count N, fault string) {
	t.Helper()
	if count <= 0 {
		t.Fatalf("casebook: nothing was injected: %s", fault)
	}
	t.Log(mark + fmt.Sprintf("%d × %s", count, fault))
}
