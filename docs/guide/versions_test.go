package guide_test

import (
	_ "embed"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/schema"
)

// Helmet is a component of the newer build.
type Helmet struct{ Left uint8 }

// begin guide
func TestSchema(t *testing.T) {
	schema.Check(t, protocol(), "testdata/schema.lock")
}

// end guide

// begin guide
func newestProtocol() *netcode.Protocol {
	p := protocol()
	netcode.Replicate[Helmet](p) // new in this build
	schema.Support(p, v1)
	return p
}

//go:embed testdata/v1.lock
var v1 string

// end guide

func TestGuideVersions(t *testing.T) {
	require.Equal(t, []uint64{schema.Of(protocol()).Hash}, schema.Of(newestProtocol()).Supports)
}
