package main

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	bstd "github.com/deneonet/benc/std"
	mus "github.com/mus-format/mus-go/unsafe"

	"github.com/arche-netcode/netcode/wire"
)

const inputBytes = 4*4 + 5

// playedInputs are sticks that swing and buttons that are pressed now and then.
func playedInputs() []Input {
	random := rand.New(rand.NewPCG(9, 5))
	all := make([]Input, count)
	for i := range all {
		t := float64(i) / 60
		all[i] = Input{
			Move:   Vector{float32(math.Sin(2.3 * t)), float32(math.Cos(1.7 * t))},
			Smash:  Vector{float32(math.Sin(0.9*t) * 0.8), float32(math.Sin(3.1*t) * 0.5)},
			Attack: random.IntN(8) == 0, Special: random.IntN(16) == 0, Shield: random.IntN(10) == 0,
			Grab: random.IntN(30) == 0, Jump: random.IntN(12) == 0,
		}
	}
	return all
}

func (v *Input) axes() [4]*float32 {
	return [...]*float32{&v.Move.X, &v.Move.Y, &v.Smash.X, &v.Smash.Y}
}

func (v *Input) buttons() [5]*bool {
	return [...]*bool{&v.Attack, &v.Special, &v.Shield, &v.Grab, &v.Jump}
}

func inputCodecs() ([]*codec, error) {
	all := playedInputs()
	whole, err := valueCodec(all)
	if err != nil {
		return nil, err
	}
	list := []*codec{
		exact("hand-written LE", "here", all, handInputPut, handInputGet), netcodeInput(all), whole,
		exact("benc std", bencVersion, all, bencInputPut, bencInputGet),
		exact("mus unsafe", musVersion, all, musInputPut, musInputGet),
		msgpCodec(all),
		protoCodec("protobuf nested", all, protoInput, fromProtoInput),
	}
	return append(list, standard(all)...), nil
}

// netcodeInput is the five bytes of examples/serialization: an axis comes back within half a step.
func netcodeInput(all []Input) *codec {
	back := make([]Input, len(all))
	return &codec{
		name: "netcode axes and bits", version: "here",
		encode: func(dst []byte, i int) ([]byte, error) {
			dst, b := room(dst, 5)
			w := wire.NewWriter(b)
			for _, axis := range all[i].axes() {
				w.Axis(*axis)
			}
			pressed := uint8(0)
			for bit, button := range all[i].buttons() {
				if *button {
					pressed |= 1 << bit
				}
			}
			w.Uint8(pressed)
			return dst, w.Err()
		},
		decode: func(src []byte, i int) error {
			r := wire.NewReader(src)
			for _, axis := range back[i].axes() {
				*axis = r.Axis()
			}
			pressed := r.Uint8()
			for bit, button := range back[i].buttons() {
				*button = pressed>>bit&1 != 0
			}
			if r.Err() == nil && pressed > 31 {
				return wire.ErrMalformed
			}
			return r.Err()
		},
		right: func(i int) bool {
			a, b := all[i].axes(), back[i].axes()
			for k := range a {
				if math.Abs(float64(*a[k]-*b[k])) > 0.5/127+1e-6 {
					return false
				}
				*b[k] = *a[k]
			}
			return back[i] == all[i]
		},
		forget: func() { clear(back) },
	}
}

func handInputPut(dst []byte, v *Input) ([]byte, error) {
	dst, b := room(dst, inputBytes)
	for i, axis := range v.axes() {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(*axis))
	}
	for i, button := range v.buttons() {
		b[16+i] = 0
		if *button {
			b[16+i] = 1
		}
	}
	return dst, nil
}

func handInputGet(b []byte, v *Input) error {
	if len(b) < inputBytes {
		return wire.ErrTruncated
	}
	for i, axis := range v.axes() {
		*axis = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	for i, button := range v.buttons() {
		*button = b[16+i] != 0
	}
	return nil
}

func bencInputPut(dst []byte, v *Input) ([]byte, error) {
	dst, b := room(dst, inputBytes)
	n := 0
	for _, axis := range v.axes() {
		n = bstd.MarshalFloat32(n, b, *axis)
	}
	for _, button := range v.buttons() {
		n = bstd.MarshalBool(n, b, *button)
	}
	return dst, nil
}

func bencInputGet(b []byte, v *Input) (err error) {
	n := 0
	for _, axis := range v.axes() {
		if n, *axis, err = bstd.UnmarshalFloat32(n, b); err != nil {
			return err
		}
	}
	for _, button := range v.buttons() {
		if n, *button, err = bstd.UnmarshalBool(n, b); err != nil {
			return err
		}
	}
	return nil
}

func musInputPut(dst []byte, v *Input) ([]byte, error) {
	dst, b := room(dst, inputBytes)
	n := 0
	for _, axis := range v.axes() {
		n += mus.Float32.Marshal(*axis, b[n:])
	}
	for _, button := range v.buttons() {
		n += mus.Bool.Marshal(*button, b[n:])
	}
	return dst, nil
}

func musInputGet(b []byte, v *Input) (err error) {
	n, at := 0, 0
	for _, axis := range v.axes() {
		if *axis, n, err = mus.Float32.Unmarshal(b[at:]); err != nil {
			return err
		}
		at += n
	}
	for _, button := range v.buttons() {
		if *button, n, err = mus.Bool.Unmarshal(b[at:]); err != nil {
			return err
		}
		at += n
	}
	return nil
}

func protoInput(v *Input) *InputMessage {
	return &InputMessage{
		Move: &Vec{X: v.Move.X, Y: v.Move.Y}, Smash: &Vec{X: v.Smash.X, Y: v.Smash.Y},
		Attack: v.Attack, Special: v.Special, Shield: v.Shield, Grab: v.Grab, Jump: v.Jump,
	}
}

func fromProtoInput(m *InputMessage) Input {
	return Input{
		Move: Vector{m.GetMove().GetX(), m.GetMove().GetY()}, Smash: Vector{m.GetSmash().GetX(), m.GetSmash().GetY()},
		Attack: m.Attack, Special: m.Special, Shield: m.Shield, Grab: m.Grab, Jump: m.Jump,
	}
}

// joystickCodecs are for the sizes: 16 bytes are two sticks of two floats, and nothing else.
func joystickCodecs() ([]*codec, error) {
	inputs := playedInputs()
	all := make([]Joysticks, len(inputs))
	for i := range inputs {
		// Never zero, which protobuf leaves out.
		all[i] = Joysticks{Vector{inputs[i].Move.X + 2, inputs[i].Move.Y - 2}, Vector{inputs[i].Smash.X + 2, inputs[i].Smash.Y - 2}}
	}
	whole, err := valueCodec(all)
	if err != nil {
		return nil, err
	}
	nested := protoCodec("protobuf nested", all, func(v *Joysticks) *JoysticksMessage {
		return &JoysticksMessage{Left: &Vec{X: v.Left.X, Y: v.Left.Y}, Right: &Vec{X: v.Right.X, Y: v.Right.Y}}
	}, func(m *JoysticksMessage) Joysticks {
		return Joysticks{Vector{m.GetLeft().GetX(), m.GetLeft().GetY()}, Vector{m.GetRight().GetX(), m.GetRight().GetY()}}
	})
	flat := protoCodec("protobuf flat", all, func(v *Joysticks) *FlatJoysticks {
		return &FlatJoysticks{Lx: v.Left.X, Ly: v.Left.Y, Rx: v.Right.X, Ry: v.Right.Y}
	}, func(m *FlatJoysticks) Joysticks { return Joysticks{Vector{m.Lx, m.Ly}, Vector{m.Rx, m.Ry}} })
	return append([]*codec{whole, msgpCodec(all), nested, flat}, standard(all)...), nil
}
