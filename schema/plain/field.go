package plain

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

// words are those of a field behind its path. Not all forms use all.
type words struct {
	form      string
	bits      int    // of its number
	most      uint64 // its largest number, or length; 0: any that fits the bits
	low, high string // the value is low + number * (high - low) / most
}

// field writes "field PATH FORM BITS MOST LOW HIGH" for "path:kind". Behind a list follow its elements, each an "element".
func field(b *strings.Builder, word, text string) error {
	path, kind, found := strings.Cut(text, ":")
	if !found {
		if strings.HasPrefix(text, "~") {
			return nil // how the component is presented
		}
		return fmt.Errorf("a field without a kind: %q", text)
	}
	w, err := wordsOf(kind)
	if err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	fmt.Fprintf(b, "%s %s %s %d %d %s %s\n", word, path, w.form, w.bits, w.most, w.low, w.high)
	if _, elements, is := strings.Cut(strings.TrimSuffix(kind, ")"), "("); is && w.form == "list" {
		for _, element := range strings.Split(elements, " ") {
			if err := field(b, "element", element); err != nil {
				return err
			}
		}
	}
	return nil
}

// wordsOf returns the words of a kind, as in "f32[-1,1,0.001]~lerp".
func wordsOf(kind string) (words, error) {
	if size, is := strings.CutPrefix(kind, "list"); is {
		size, _, _ = strings.Cut(size, "(")
		return sized("list", 0, size)
	}
	kind, _, _ = strings.Cut(kind, "~")
	kind, bounds, bounded := strings.Cut(strings.TrimSuffix(kind, "]"), "[")
	for _, of := range []struct {
		kind  string
		words words
	}{
		{"bool", words{"bool", 1, 0, "0", "0"}},
		{"entity", words{"entity", 0, 0, "0", "0"}},
		{"f32", words{"float", 32, 0, "0", "0"}},
		{"f64", words{"float", 64, 0, "0", "0"}},
		{"f32half", words{"half", 16, 63487, "0", "0"}},
		{"f64half", words{"half", 16, 63487, "0", "0"}},
		{"f32axis", words{"scaled", 8, 254, "-1", "1"}},
		{"f64axis", words{"scaled", 8, 254, "-1", "1"}},
	} {
		if kind == of.kind && !bounded {
			return of.words, nil
		}
	}
	digits := strings.TrimLeft(kind, "abcdefghijklmnopqrstuvwxyz")
	switch name := strings.TrimSuffix(kind, digits); {
	case name == "text":
		return sized("text", 0, digits)
	case name == "quat":
		return sized("quat", 0, digits)
	case kind == "f32" || kind == "f64":
		return scaled(kind == "f32", strings.Split(bounds, ","))
	case strings.HasPrefix(kind, "f32angle"), strings.HasPrefix(kind, "f64angle"):
		k, err := strconv.Atoi(kind[len("f32angle"):])
		return words{"angle", k, 1 << k, "0", number(2 * math.Pi)}, err
	case name == "u" || name == "i":
		return integer(name, digits, bounds)
	}
	return words{}, fmt.Errorf("a thin client does not know this kind")
}

// sized returns the words of a kind with one number: the longest length, or the bits of a part of a rotation.
func sized(form string, width int, digits string) (words, error) {
	n, err := strconv.ParseUint(digits, 10, 32)
	if form == "quat" {
		return words{form, int(n), 0, "0", "0"}, err
	}
	return words{form, width, n, "0", "0"}, err
}

// scaled returns the words of a float with bounds and a step. Those of a float32 are rounded to it.
func scaled(single bool, bounds []string) (words, error) {
	if len(bounds) != 3 {
		return words{}, fmt.Errorf("want bounds and a step")
	}
	width := map[bool]int{true: 32, false: 64}[single]
	low, err := strconv.ParseFloat(bounds[0], width)
	high, err2 := strconv.ParseFloat(bounds[1], width)
	step, err3 := strconv.ParseFloat(bounds[2], 64)
	n := math.Ceil((high-low)/step - 1e-6)
	if err != nil || err2 != nil || err3 != nil || !(n >= 1 && n < 1<<53) {
		return words{}, fmt.Errorf("no bounds of a float")
	}
	return words{"scaled", bits.Len64(uint64(n)), uint64(n), number(low), number(high)}, nil
}

// integer returns the words of "u16", "i8[-5,5]" (digits "16", bounds "-5,5") or "u32short".
func integer(name, digits, bounds string) (words, error) {
	bare, short := strings.CutSuffix(digits, "short")
	width, err := strconv.Atoi(bare)
	if err != nil || width < 1 || width > 64 {
		return words{}, fmt.Errorf("no integer")
	}
	if short {
		return words{"short", 0, math.MaxUint64 >> (64 - width), "0", "0"}, nil
	}
	low := new(big.Int)
	if name == "i" {
		low.Neg(low.Lsh(big.NewInt(1), uint(width-1)))
	}
	if bounds == "" {
		return words{"int", width, 0, low.String(), "0"}, nil
	}
	from, to, _ := strings.Cut(bounds, ",")
	high, ok := new(big.Int).SetString(to, 10)
	if low, err := low.SetString(from, 10); !ok || !err {
		return words{}, fmt.Errorf("no bounds of an integer")
	} else if high.Sub(high, low); !high.IsUint64() {
		return words{}, fmt.Errorf("no bounds of an integer")
	}
	n := high.Uint64()
	return words{"int", bits.Len64(n), n, low.String(), "0"}, nil
}

// number returns the shortest text of a float.
func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
