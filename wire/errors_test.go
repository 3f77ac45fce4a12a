package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Find finds a length that is too large in nested values, behind pointers, and in slices.
func TestLengthErrorFindsItsField(t *testing.T) {
	type inner struct{ Names []string }
	type outer struct {
		N     int
		Deep  []inner
		Other *inner
	}
	v := outer{N: 7, Deep: []inner{{}, {Names: []string{"a", "long"}}}, Other: &inner{Names: []string{"longer"}}}
	for want, call := range map[string]func(s *Serializer){
		"Deep[1].Names[1] is 4 long, at most 3 may travel": func(s *Serializer) { s.Strings(&v.Deep[1].Names, 9, 3) },
		"Deep[1].Names is 2 long, at most 1 may travel":    func(s *Serializer) { s.Strings(&v.Deep[1].Names, 1, 9) },
		"Other.Names[0] is 6 long, at most 3 may travel":   func(s *Serializer) { s.String(&v.Other.Names[0], 3) },
		"N is 7 long, at most 3 may travel":                func(s *Serializer) { s.Count(&v.N, 3, 1) },
		"wire: a value is 4 long, at most 2 may travel":    func(s *Serializer) { copied := "copy"; s.String(&copied, 2) },
	} {
		var s Serializer
		_, err := s.Measure(either(call))
		var long *LengthError
		require.ErrorAs(t, err, &long)
		require.ErrorIs(t, err, ErrTooLong)
		long.Find(&v)
		require.EqualError(t, long, want)
		_, err = s.Write(make([]byte, 64), either(call))
		require.ErrorAs(t, err, &long)
		long.Find(&v)
		require.EqualError(t, long, want)
	}
}
