package netecs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	netecs "github.com/arche-netcode/netcode/ecs"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
)

// A relation whose marker is that of the other ECS is refused by name: this ECS would store it without a target.
func TestARelationOfTheOtherECSIsRefused(t *testing.T) {
	schema := schemaOf(t, otherTie{})
	require.PanicsWithValue(t, "netecs: the relation netecs_test.otherTie is of another ECS: this build is for "+ecs.Name+", so it embeds "+ecs.Marker+"; "+ecs.Other, func() {
		netecs.NewCapture(ecs.New(), snapshot.NewStore(schema, snapshot.Config{}), schema, serverTag, nil)
	})
}
