package rowtest

import (
	"encoding/hex"
	"strconv"
	"strings"
	"testing"
)

// Vectors returns the lines of golden vectors without comments. The arguments are the results of os.ReadFile.
func Vectors(text []byte, err error) (lines []string) {
	if err != nil {
		panic(err)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// Number parses a word of a line.
func Number[T any](t testing.TB, parse func(string) (T, error), text string) T {
	t.Helper()
	v, err := parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

// Uint parses a number.
func Uint(text string) (uint64, error) { return strconv.ParseUint(text, 10, 64) }

// Int parses a number with a sign.
func Int(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }

// Bytes parses hexadecimal bytes; "-" is none.
func Bytes(text string) ([]byte, error) { return hex.DecodeString(strings.TrimSuffix(text, "-")) }
