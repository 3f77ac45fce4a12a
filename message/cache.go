package message

import (
	"reflect"
)

// cacheSize is the number of Go types that a Cache remembers; two of the same place replace each other.
const cacheSize = 64

// Cache remembers which type a Go type is, for TypeOf and ShortOf. It belongs to one end and one registry. The zero value is
// empty.
type Cache struct {
	entries [cacheSize]cached
	allowed [1 << 8]bool
}

// cached is a Cache's entry for one Go type. The codec is stored without its type; the key has that.
type cached struct {
	key   goType
	codec opaque
	short Short
	of    *Type
}

// Short is the header of a message that has only a type and a stage, and needs no check before it is sent. The zero value
// is of no message.
type Short struct {
	Header uint32 // as in a packet, as a little-endian number; without a stage if that is not Given
	Known  bool   // there is one
	Given  bool   // the type says at which stage it is handled
}

// Allow says that nothing has to be asked before a message of this type is sent from this end. Types whose payloads have to be
// looked at are sent the long way all the same. Call it before the cache is used.
func (c *Cache) Allow(t *Type) { c.allowed[t.id] = true }

// ShortOf returns how messages of T begin, and its codec, of which Copy is all that is needed. It knows only what TypeOf was
// asked for lately, and only types that are allowed.
func ShortOf[T any](c *Cache) (*CodecOf[T], Short) {
	key := goTypeOf[T]()
	if e := &c.entries[key.place()]; e.key == key {
		return codecFrom[T](e.codec), e.short
	}
	return nil, Short{}
}

// TypeOf returns the message type of T and its codec, once the registry is frozen; nil and nil when it has none.
func TypeOf[T any](r *Registry, c *Cache) (*Type, *CodecOf[T]) {
	key := goTypeOf[T]()
	e := &c.entries[key.place()]
	if e.key == key {
		return e.of, codecFrom[T](e.codec)
	}
	return lookUp[T](r, c, e, key)
}

// lookUp is TypeOf for a type that the cache does not hold.
func lookUp[T any](r *Registry, c *Cache, e *cached, key goType) (*Type, *CodecOf[T]) {
	of := r.ByGoType(reflect.TypeFor[T]())
	if of == nil {
		return nil, nil
	}
	codec, ok := of.Codec.(*CodecOf[T])
	if !ok {
		return nil, nil
	}
	*e = cached{key: key, of: of, codec: opaqueOf(codec)}
	if size := codec.AlwaysLegal(); c.allowed[of.id] && size < NoSize {
		e.short = Short{Header: uint32(of.id) | size<<16, Known: true, Given: of.StageGiven}
		if of.StageGiven {
			e.short.Header |= uint32(of.Stage) << 8
		}
	}
	return of, codec
}
