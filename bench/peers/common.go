package main

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"runtime"
	"slices"

	"github.com/tinylib/msgp/msgp"
	"google.golang.org/protobuf/proto"

	"github.com/arche-netcode/netcode/wire"
)

const (
	bencVersion  = "v1.1.8"
	musVersion   = "v0.7.2"
	msgpVersion  = "v1.6.5"
	protoVersion = "v1.36.12"
)

// exact makes a codec of messages that must come back as they were.
func exact[T comparable](name, version string, all []T, encode func(dst []byte, v *T) ([]byte, error), decode func(src []byte, v *T) error) *codec {
	back := make([]T, len(all))
	return &codec{
		name: name, version: version,
		encode: func(dst []byte, i int) ([]byte, error) { return encode(dst, &all[i]) },
		decode: func(src []byte, i int) error { return decode(src, &back[i]) },
		right:  func(i int) bool { return back[i] == all[i] },
		forget: func() { clear(back) },
	}
}

// room appends n bytes and returns them too.
func room(dst []byte, n int) (all, last []byte) {
	all = slices.Grow(dst, n)[:len(dst)+n]
	return all, all[len(dst):]
}

// valueCodec is netcode's codec for structs that are sent exactly.
func valueCodec[T comparable](all []T) (*codec, error) {
	value, err := wire.NewValue[T]()
	if err != nil {
		return nil, err
	}
	size := value.Size()
	return exact("netcode Value", "here", all,
		func(dst []byte, v *T) ([]byte, error) {
			dst, last := room(dst, size)
			return dst, value.Put(last, v)
		}, value.Get), nil
}

// standard are the codecs of the standard library: encoding/binary, gob as a stream, JSON.
func standard[T comparable](all []T) []*codec {
	var stream bytes.Buffer
	var source bytes.Reader
	encoder, decoder := gob.NewEncoder(&stream), gob.NewDecoder(&source)
	return []*codec{
		exact("encoding/binary", runtime.Version(), all,
			func(dst []byte, v *T) ([]byte, error) { return binary.Append(dst, binary.LittleEndian, v) },
			func(src []byte, v *T) error {
				_, err := binary.Decode(src, binary.LittleEndian, v)
				return err
			}),
		exact("gob stream", runtime.Version(), all,
			func(dst []byte, v *T) ([]byte, error) {
				stream.Reset()
				err := encoder.Encode(v)
				return append(dst, stream.Bytes()...), err
			},
			func(src []byte, v *T) error {
				source.Reset(src)
				return decoder.Decode(v)
			}),
		exact("encoding/json", runtime.Version(), all,
			func(dst []byte, v *T) ([]byte, error) {
				text, err := json.Marshal(v)
				return append(dst, text...), err
			},
			func(src []byte, v *T) error { return json.Unmarshal(src, v) }),
	}
}

// packed has the methods that msgp generates for a type.
type packed[T any] interface {
	*T
	msgp.Marshaler
	msgp.Unmarshaler
}

func msgpCodec[T comparable, P packed[T]](all []T) *codec {
	return exact("msgp tuple", msgpVersion, all,
		func(dst []byte, v *T) ([]byte, error) { return P(v).MarshalMsg(dst) },
		func(src []byte, v *T) error {
			_, err := P(v).UnmarshalMsg(src)
			return err
		})
}

// protoCodec marshals messages that were made before, and unmarshals into one that is used again and again.
func protoCodec[T comparable, M proto.Message](name string, all []T, build func(v *T) M, take func(m M) T) *codec {
	messages := make([]M, len(all))
	for i := range all {
		messages[i] = build(&all[i])
	}
	var zero T
	backs := make([]M, len(all))
	for i := range backs {
		backs[i] = build(&zero)
	}
	options := proto.MarshalOptions{}
	return &codec{
		name: name, version: protoVersion,
		encode: func(dst []byte, i int) ([]byte, error) { return options.MarshalAppend(dst, messages[i]) },
		decode: func(src []byte, i int) error { return proto.Unmarshal(src, backs[i]) },
		right:  func(i int) bool { return take(backs[i]) == all[i] },
		forget: func() {
			for _, m := range backs {
				proto.Reset(m)
			}
		},
	}
}
