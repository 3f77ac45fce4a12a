package main

import (
	"encoding/binary"
	"math"

	"github.com/arche-netcode/netcode/wire"
)

// codecRow is the row of T6: 45 bytes on the wire, 48 in memory.
type codecRow struct {
	Pos   [3]float32
	Rot   [4]float32
	Vel   [3]float32
	ID    uint32
	Flags uint8
}

const (
	codecRows  = 1000
	codecBytes = 3*4 + 4*4 + 3*4 + 4 + 1
)

// handPut is hand-written code with encoding/binary: one bounds check, then field by field.
func handPut(b []byte, r *codecRow) {
	_ = b[codecBytes-1]
	binary.LittleEndian.PutUint32(b[0:], math.Float32bits(r.Pos[0]))
	binary.LittleEndian.PutUint32(b[4:], math.Float32bits(r.Pos[1]))
	binary.LittleEndian.PutUint32(b[8:], math.Float32bits(r.Pos[2]))
	binary.LittleEndian.PutUint32(b[12:], math.Float32bits(r.Rot[0]))
	binary.LittleEndian.PutUint32(b[16:], math.Float32bits(r.Rot[1]))
	binary.LittleEndian.PutUint32(b[20:], math.Float32bits(r.Rot[2]))
	binary.LittleEndian.PutUint32(b[24:], math.Float32bits(r.Rot[3]))
	binary.LittleEndian.PutUint32(b[28:], math.Float32bits(r.Vel[0]))
	binary.LittleEndian.PutUint32(b[32:], math.Float32bits(r.Vel[1]))
	binary.LittleEndian.PutUint32(b[36:], math.Float32bits(r.Vel[2]))
	binary.LittleEndian.PutUint32(b[40:], r.ID)
	b[44] = r.Flags
}

// handGet is the inverse of handPut.
func handGet(b []byte, r *codecRow) {
	_ = b[codecBytes-1]
	r.Pos[0] = math.Float32frombits(binary.LittleEndian.Uint32(b[0:]))
	r.Pos[1] = math.Float32frombits(binary.LittleEndian.Uint32(b[4:]))
	r.Pos[2] = math.Float32frombits(binary.LittleEndian.Uint32(b[8:]))
	r.Rot[0] = math.Float32frombits(binary.LittleEndian.Uint32(b[12:]))
	r.Rot[1] = math.Float32frombits(binary.LittleEndian.Uint32(b[16:]))
	r.Rot[2] = math.Float32frombits(binary.LittleEndian.Uint32(b[20:]))
	r.Rot[3] = math.Float32frombits(binary.LittleEndian.Uint32(b[24:]))
	r.Vel[0] = math.Float32frombits(binary.LittleEndian.Uint32(b[28:]))
	r.Vel[1] = math.Float32frombits(binary.LittleEndian.Uint32(b[32:]))
	r.Vel[2] = math.Float32frombits(binary.LittleEndian.Uint32(b[36:]))
	r.ID = binary.LittleEndian.Uint32(b[40:])
	r.Flags = b[44]
}

// writerPut is the row by the methods of a Writer, each of which asks whether it fits.
func writerPut(w *wire.Writer, r *codecRow) {
	for _, v := range r.Pos {
		w.Float32(v)
	}
	for _, v := range r.Rot {
		w.Float32(v)
	}
	for _, v := range r.Vel {
		w.Float32(v)
	}
	w.Uint32(r.ID)
	w.Uint8(r.Flags)
}

// readerGet is the inverse of writerPut.
func readerGet(r *wire.Reader, row *codecRow) {
	for i := range row.Pos {
		row.Pos[i] = r.Float32()
	}
	for i := range row.Rot {
		row.Rot[i] = r.Float32()
	}
	for i := range row.Vel {
		row.Vel[i] = r.Float32()
	}
	row.ID = r.Uint32()
	row.Flags = r.Uint8()
}

// codecMotion are the bodies that the rows are of: each on a circle of its own.
type codecMotion struct{ orbits []orbit }

func newCodecMotion() *codecMotion { return &codecMotion{orbits: newScene(codecRows, 1).orbits} }

// moveRows lets every body move for a sixtieth of a second and writes its row.
func (m *codecMotion) moveRows(rows []codecRow) {
	for i := range rows {
		p, q, v := m.orbits[i].nextPose()
		rows[i] = codecRow{Pos: [3]float32{p.X, p.Y, p.Z}, Rot: q.Q, Vel: [3]float32{v.X, v.Y, v.Z}}
		rows[i].ID, rows[i].Flags = uint32(i)*2654435761, uint8(i*7)
	}
}
