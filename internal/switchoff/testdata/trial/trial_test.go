package trial

import (
	"flag"
	"testing"
)

var times = flag.Int("times", 1, "how often to ask")

func TestMost(t *testing.T) {
	if Most(1, 2) != 2 || Most(2, 1) != 2 {
		t.Error("not the larger one")
	}
}

func TestMostOften(t *testing.T) {
	if *times < 2 {
		return
	}
	TestMost(t)
}

func TestSpare(*testing.T) { Spare() }
