package usage_test

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/arche-netcode/netcode/internal/usage"
)

func TestAWrongFlagIsOneLine(t *testing.T) {
	takes := usage.Takes{"n": "a whole number from 1 to 9"}
	for args, want := range map[string]string{
		"-n abc":  `-n "abc": it must be a whole number from 1 to 9`,
		"-n":      `-n needs a value: it must be a whole number from 1 to 9`,
		"-b=what": `-b "what": it must be true or false`,
		"-d x":    `-d "x": parse error; -help says what it takes`,
		"-d":      `-d needs a value; -help says which`,
		"-x 3":    `there is no flag -x; -help lists them`,
		"more":    `unexpected argument "more"; -help lists the flags`,
		"-n 3":    "",
	} {
		var out strings.Builder
		f := flag.NewFlagSet("program", flag.ContinueOnError)
		f.SetOutput(&out)
		f.Int("n", 1, "a number")
		f.Bool("b", false, "a switch")
		f.Duration("d", 0, "a time")
		err, got := usage.Parse(f, strings.Fields(args), takes), ""
		if err != nil {
			got = err.Error()
		}
		if status := usage.Status(err); want != "" && status != 2 || want == "" && status != 0 {
			t.Errorf("%s: exits with %d", args, status)
		}
		if got != want || out.Len() > 0 {
			t.Errorf("%s: got %s and %q, want %s", args, got, out.String(), want)
		}
		if err := usage.Parse(f, []string{"-help"}, takes); !errors.Is(err, flag.ErrHelp) || !strings.Contains(out.String(), "a switch") {
			t.Errorf("-help: %v, %q", err, out.String())
		}
	}
	for want, err := range map[int]error{
		0: fmt.Errorf("wrapped: %w", flag.ErrHelp), 1: errors.New("a file is missing"), 2: fmt.Errorf("wrapped: %w", takes.Wrong("n", 12)),
	} {
		if got := usage.Status(err); got != want {
			t.Errorf("%v: exits with %d, not %d", err, got, want)
		}
	}
}
