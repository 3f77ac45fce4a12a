package wire

import (
	"strings"
	"unicode/utf8"
)

// TextArray is the array types in which a Text stores its bytes.
type TextArray interface {
	[4]byte | [8]byte | [12]byte | [16]byte | [20]byte | [24]byte | [28]byte | [32]byte | [40]byte | [48]byte | [56]byte | [64]byte |
		[80]byte | [96]byte | [112]byte | [128]byte | [160]byte | [192]byte | [224]byte | [256]byte
}

// Text is a text of bounded length, stored without a pointer. It can be a field of a component, an input, a message or
// an element of a collection: Text[[32]byte], or Text32, has room for 32 bytes of UTF-8. The zero value is empty.
//
// A row has the bytes in use. A delta has the bytes from the first difference on. Two texts are equal (==) if and only
// if their strings are.
type Text[A TextArray] struct {
	n uint16 // bytes in use; the others are 0
	b A
}

// The usual sizes of a Text.
type (
	// Text16 is a [Text] with room for 16 bytes.
	Text16 = Text[[16]byte]
	// Text32 is a [Text] with room for 32 bytes.
	Text32 = Text[[32]byte]
	// Text64 is a [Text] with room for 64 bytes.
	Text64 = Text[[64]byte]
	// Text128 is a [Text] with room for 128 bytes.
	Text128 = Text[[128]byte]
)

// NewText returns a text with the contents s: NewText[[32]byte]("Ann") is a Text32. It truncates s as Set does.
func NewText[A TextArray](s string) (t Text[A]) {
	t.Set(s)
	return t
}

// Set sets the text to s and reports whether it fits. Otherwise it keeps as many whole characters as fit. Invalid UTF-8
// becomes U+FFFD.
func (t *Text[A]) Set(s string) (all bool) {
	t.n, t.b = 0, *new(A)
	return t.Append(s)
}

// Append appends s, by the rules of Set.
func (t *Text[A]) Append(s string) (all bool) {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	room := t.Cap() - t.Len()
	if all = len(s) <= room; !all {
		for room > 0 && !utf8.RuneStart(s[room]) {
			room--
		}
		s = s[:room]
	}
	for i := range len(s) {
		t.b[int(t.n)+i] = s[i]
	}
	t.n += uint16(len(s))
	return all
}

// Truncate shortens the text to at most n bytes, without splitting a character.
func (t *Text[A]) Truncate(n int) {
	end := t.Len()
	if n = max(n, 0); n >= end {
		return
	}
	for n > 0 && !utf8.RuneStart(t.b[n]) {
		n--
	}
	for i := n; i < end; i++ {
		t.b[i] = 0
	}
	t.n = uint16(n)
}

// String returns the text. It allocates; AppendTo and Is do not.
func (t *Text[A]) String() string { return string(t.AppendTo(nil)) }

// AppendTo appends the text to dst.
func (t *Text[A]) AppendTo(dst []byte) []byte {
	for i := range t.Len() {
		dst = append(dst, t.b[i])
	}
	return dst
}

// Is reports whether the text equals s.
func (t *Text[A]) Is(s string) bool {
	if len(s) != t.Len() {
		return false
	}
	for i := range len(s) {
		if t.b[i] != s[i] {
			return false
		}
	}
	return true
}

// Len returns the length in bytes.
func (t *Text[A]) Len() int { return min(int(t.n), len(t.b)) }

// Cap returns the maximum length in bytes.
func (t *Text[A]) Cap() int { return len(t.b) }

// At returns byte i. It panics unless i < Len.
func (t *Text[A]) At(i int) byte {
	mustLie(i, t.Len())
	return t.b[i]
}
