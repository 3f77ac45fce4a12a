package main

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	bstd "github.com/deneonet/benc/std"
	"github.com/mus-format/mus-go/raw"
	mus "github.com/mus-format/mus-go/unsafe"
	"github.com/mus-format/mus-go/varint"

	"github.com/arche-netcode/netcode/wire"
)

const rowBytes = 45

// motionRows are bodies that tumble and fly: after some time of it, nothing about them is zero.
func motionRows() []Row {
	random := rand.New(rand.NewPCG(7, 1))
	rows := make([]Row, count)
	for i := range rows {
		r := &rows[i]
		length := 0.0
		var q [4]float64
		for k := range q {
			q[k] = random.NormFloat64()
			length += q[k] * q[k]
		}
		for k := range q {
			r.Rot[k] = float32(q[k] / math.Sqrt(length))
		}
		for k := range r.Pos {
			speed, seconds := random.NormFloat64()*6, random.Float64()*10
			r.Vel[k] = float32(speed * math.Exp(-seconds/5))
			r.Pos[k] = float32(random.Float64()*400 - 200 + 5*speed*(1-math.Exp(-seconds/5)))
		}
		r.ID, r.Flags = uint32(i), uint8(i*7)
	}
	return rows
}

func rowCodecs() ([]*codec, error) {
	rows := motionRows()
	whole, err := valueCodec(rows)
	if err != nil {
		return nil, err
	}
	list := []*codec{
		exact("hand-written LE", "here", rows, handPut, handGet), whole,
		exact("benc std", bencVersion, rows, bencPut, bencGet),
		exact("mus unsafe", musVersion, rows, musPut, musGet),
		exact("mus raw, varint id", musVersion, rows, musRawPut, musRawGet),
		msgpCodec(rows),
		protoCodec("protobuf flat", rows, flatRow, fromFlatRow),
		protoCodec("protobuf nested", rows, nestedRow, fromNestedRow),
	}
	return append(list, standard(rows)...), nil
}

func handPut(dst []byte, r *Row) ([]byte, error) {
	dst, b := room(dst, rowBytes)
	_ = b[rowBytes-1]
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
	return dst, nil
}

func handGet(b []byte, r *Row) error {
	if len(b) < rowBytes {
		return wire.ErrTruncated
	}
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
	return nil
}

// floats are the float fields of a row in their order.
func (r *Row) floats() [10]*float32 {
	return [...]*float32{&r.Pos[0], &r.Pos[1], &r.Pos[2], &r.Rot[0], &r.Rot[1], &r.Rot[2], &r.Rot[3], &r.Vel[0], &r.Vel[1], &r.Vel[2]}
}

func bencPut(dst []byte, r *Row) ([]byte, error) {
	dst, b := room(dst, rowBytes)
	n := bstd.MarshalFloat32(0, b, r.Pos[0])
	n = bstd.MarshalFloat32(n, b, r.Pos[1])
	n = bstd.MarshalFloat32(n, b, r.Pos[2])
	n = bstd.MarshalFloat32(n, b, r.Rot[0])
	n = bstd.MarshalFloat32(n, b, r.Rot[1])
	n = bstd.MarshalFloat32(n, b, r.Rot[2])
	n = bstd.MarshalFloat32(n, b, r.Rot[3])
	n = bstd.MarshalFloat32(n, b, r.Vel[0])
	n = bstd.MarshalFloat32(n, b, r.Vel[1])
	n = bstd.MarshalFloat32(n, b, r.Vel[2])
	n = bstd.MarshalUint32(n, b, r.ID)
	bstd.MarshalByte(n, b, r.Flags)
	return dst, nil
}

func bencGet(b []byte, r *Row) (err error) {
	n := 0
	for _, f := range r.floats() {
		if n, *f, err = bstd.UnmarshalFloat32(n, b); err != nil {
			return err
		}
	}
	if n, r.ID, err = bstd.UnmarshalUint32(n, b); err != nil {
		return err
	}
	_, r.Flags, err = bstd.UnmarshalByte(n, b)
	return err
}

func musPut(dst []byte, r *Row) ([]byte, error) {
	dst, b := room(dst, rowBytes)
	n := mus.Float32.Marshal(r.Pos[0], b)
	n += mus.Float32.Marshal(r.Pos[1], b[n:])
	n += mus.Float32.Marshal(r.Pos[2], b[n:])
	n += mus.Float32.Marshal(r.Rot[0], b[n:])
	n += mus.Float32.Marshal(r.Rot[1], b[n:])
	n += mus.Float32.Marshal(r.Rot[2], b[n:])
	n += mus.Float32.Marshal(r.Rot[3], b[n:])
	n += mus.Float32.Marshal(r.Vel[0], b[n:])
	n += mus.Float32.Marshal(r.Vel[1], b[n:])
	n += mus.Float32.Marshal(r.Vel[2], b[n:])
	n += mus.Uint32.Marshal(r.ID, b[n:])
	mus.Byte.Marshal(r.Flags, b[n:])
	return dst, nil
}

func musGet(b []byte, r *Row) (err error) {
	n, at := 0, 0
	for _, f := range r.floats() {
		if *f, n, err = mus.Float32.Unmarshal(b[at:]); err != nil {
			return err
		}
		at += n
	}
	if r.ID, n, err = mus.Uint32.Unmarshal(b[at:]); err != nil {
		return err
	}
	r.Flags, _, err = mus.Byte.Unmarshal(b[at+n:])
	return err
}

func musRawPut(dst []byte, r *Row) ([]byte, error) {
	from := len(dst)
	dst, b := room(dst, 40+varint.Uint32.Size(r.ID)+1)
	n := 0
	for _, f := range r.floats() {
		n += raw.Float32.Marshal(*f, b[n:])
	}
	n += varint.Uint32.Marshal(r.ID, b[n:])
	n += raw.Byte.Marshal(r.Flags, b[n:])
	return dst[:from+n], nil
}

func musRawGet(b []byte, r *Row) (err error) {
	n, at := 0, 0
	for _, f := range r.floats() {
		if *f, n, err = raw.Float32.Unmarshal(b[at:]); err != nil {
			return err
		}
		at += n
	}
	if r.ID, n, err = varint.Uint32.Unmarshal(b[at:]); err != nil {
		return err
	}
	r.Flags, _, err = raw.Byte.Unmarshal(b[at+n:])
	return err
}

func flatRow(r *Row) *FlatRow {
	return &FlatRow{
		Px: r.Pos[0], Py: r.Pos[1], Pz: r.Pos[2], Rx: r.Rot[0], Ry: r.Rot[1], Rz: r.Rot[2], Rw: r.Rot[3],
		Vx: r.Vel[0], Vy: r.Vel[1], Vz: r.Vel[2], Id: r.ID, Flags: uint32(r.Flags),
	}
}

func fromFlatRow(m *FlatRow) Row {
	return Row{
		Pos: [3]float32{m.Px, m.Py, m.Pz}, Rot: [4]float32{m.Rx, m.Ry, m.Rz, m.Rw}, Vel: [3]float32{m.Vx, m.Vy, m.Vz},
		ID: m.Id, Flags: uint8(m.Flags),
	}
}

func nestedRow(r *Row) *NestedRow {
	return &NestedRow{
		Pos: &Vec{X: r.Pos[0], Y: r.Pos[1], Z: r.Pos[2]}, Rot: &Vec{X: r.Rot[0], Y: r.Rot[1], Z: r.Rot[2], W: r.Rot[3]},
		Vel: &Vec{X: r.Vel[0], Y: r.Vel[1], Z: r.Vel[2]}, Id: r.ID, Flags: uint32(r.Flags),
	}
}

func fromNestedRow(m *NestedRow) Row {
	p, q, v := m.GetPos(), m.GetRot(), m.GetVel()
	return Row{
		Pos: [3]float32{p.GetX(), p.GetY(), p.GetZ()}, Rot: [4]float32{q.GetX(), q.GetY(), q.GetZ(), q.GetW()},
		Vel: [3]float32{v.GetX(), v.GetY(), v.GetZ()}, ID: m.Id, Flags: uint8(m.Flags),
	}
}
