package usage

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// List returns a function for flag.FlagSet.Func that parses comma-separated values, each by read. They replace the previous
// values.
func List[T any](to *[]T, read func(string) (T, error)) func(string) error {
	return func(s string) error {
		*to = nil
		for _, one := range strings.Split(s, ",") {
			v, err := read(one)
			if err != nil {
				return err
			}
			*to = append(*to, v)
		}
		return nil
	}
}

// RoundTrip parses a round trip from 0s to 1s.
func RoundTrip(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err == nil && (d < 0 || d > time.Second) {
		err = errors.New("it is from 0s to 1s")
	}
	return d, err
}

// Percent parses 0 to 100 percent and returns a share. Numbers below 1 without a sign are shares: 10, 10% and 0.10 are equal.
func Percent(s string) (float64, error) {
	number, isPercent := strings.CutSuffix(s, "%")
	share, err := strconv.ParseFloat(number, 64)
	if isPercent || share >= 1 {
		share /= 100
	}
	if err == nil && !(share >= 0 && share <= 1) {
		err = errors.New("it is in percent: from 0 to 100")
	}
	return share, err
}
