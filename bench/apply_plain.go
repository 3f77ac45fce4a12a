package main

import (
	"bytes"
	"encoding/binary"
	"fmt"

	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
)

// plainApply is the anchor: the movers' rows as a 32-bit index and 40 bytes, in ascending order of index as a snapshot has
// them, written into a world of its own whose memory is in the same order as the client's.
type plainApply struct {
	world     *ecs.World
	rows      []byte
	entities  []ecs.Entity // by index
	get       generic.Map3[position, rotation, velocity]
	positions []position
	rotations []rotation
	velocity  []velocity
	ids       [3]ecs.ID
	place     []int32 // by index: where its row is in the columns
}

// plainRow is an index and the bytes of position, rotation and velocity.
const plainRow = 4 + 40

func newPlainApply(entities int, order []int) plainApply {
	p := plainApply{world: ecs.New(entities + 1), entities: make([]ecs.Entity, entities), place: make([]int32, entities)}
	p.get = generic.NewMap3[position, rotation, velocity](p.world)
	p.ids = [3]ecs.ID{ecs.ComponentID[position](p.world), ecs.ComponentID[rotation](p.world), ecs.ComponentID[velocity](p.world)}
	for at := range entities {
		p.entities[order[at]], p.place[order[at]] = p.get.New(), int32(at)
	}
	p.positions, p.rotations, p.velocity = make([]position, entities), make([]rotation, entities), make([]velocity, entities)
	return p
}

// byGet writes every row through World.Get.
func (p *plainApply) byGet() {
	for at := 0; at+plainRow <= len(p.rows); at += plainRow {
		row := (*[plainRow]byte)(p.rows[at:])
		e := p.entities[binary.LittleEndian.Uint32(row[:])]
		takeRow(row, (*position)(ecs.Get(p.world, e, p.ids[0])), (*rotation)(ecs.Get(p.world, e, p.ids[1])), (*velocity)(ecs.Get(p.world, e, p.ids[2])))
	}
}

// byColumn writes every row into slices.
func (p *plainApply) byColumn() {
	for at := 0; at+plainRow <= len(p.rows); at += plainRow {
		row := (*[plainRow]byte)(p.rows[at:])
		k := p.place[binary.LittleEndian.Uint32(row[:])]
		takeRow(row, &p.positions[k], &p.rotations[k], &p.velocity[k])
	}
}

// check holds some entities that were written by World.Get against their rows.
func (p *plainApply) check(rows []byte) error {
	for at := 0; at+plainRow <= len(rows); at += max(1, len(rows)/plainRow/16) * plainRow {
		row := rows[at:][:plainRow]
		i := binary.LittleEndian.Uint32(row)
		pos, q, v := p.get.Get(p.entities[i])
		if got := appendPlain(nil, i, *pos, *q, *v); !bytes.Equal(got, row) {
			return fmt.Errorf("the anchor wrote body %d wrongly", i)
		}
	}
	return nil
}
