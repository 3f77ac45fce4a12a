package guide_test

import (
	"testing"

	"github.com/arche-netcode/netcode/schema"
)

// begin guide
func TestSchema(t *testing.T) {
	schema.Check(t, protocol(), "testdata/schema.lock")
}

// end guide
