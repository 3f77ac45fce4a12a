//go:build !netcode_ark

package guide_test

import "github.com/mlange-42/arche/ecs"

// begin guide
type CarriedBy struct{ ecs.Relation } // its target is part of its value

// end guide
