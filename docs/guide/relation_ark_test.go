//go:build netcode_ark

package guide_test

import "github.com/mlange-42/ark/ecs"

// begin guide
type CarriedBy struct{ ecs.RelationMarker } // its target is part of its value

// end guide
