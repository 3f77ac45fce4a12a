package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/arche-netcode/netcode/internal/usage"
)

// Each codec decodes the messages that it encoded. It encodes to the listed sizes. These do not depend on the
// machine.
func TestEveryCodecIsVerified(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"-json", "-t", "5ms"}, &out); err != nil {
		t.Fatal(err)
	}
	sizes := map[string]float64{}
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		var r result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(lines.Text(), err)
		}
		if r.Params["verified"] != true || r.Value <= 0 || *r.Ratio <= 0 {
			t.Error(lines.Text())
		}
		name := r.Params["codec"].(string)
		if strings.HasPrefix(name, "netcode") && r.Params["allocs"].(float64) != 0 {
			t.Error("allocates:", lines.Text())
		}
		sizes[r.Scenario+" "+name] = r.Params["bytes"].(float64)
	}
	for name, want := range map[string]float64{
		"peers.row.encode netcode Value":           45,
		"peers.row.encode benc std":                45,
		"peers.input.encode netcode axes and bits": 5,
		"peers.input.encode netcode Value":         21,
		"peers.joysticks.encode netcode Value":     16,
		"peers.joysticks.encode protobuf nested":   24,
		"peers.joysticks.encode protobuf flat":     20,
	} {
		if sizes[name] != want {
			t.Errorf("%s: %v bytes, want %v", name, sizes[name], want)
		}
	}
}

// A word behind the flags is refused, before anything is measured.
func TestWordsBehindTheFlagsAreRefused(t *testing.T) {
	var out bytes.Buffer
	err := run([]string{"-t", "1ms", "row"}, &out)
	if err == nil || !strings.Contains(err.Error(), `"row"`) || out.Len() > 0 {
		t.Errorf("%v, %q", err, out.String())
	}
	if err := run([]string{"-t", "long"}, &out); err == nil || !strings.Contains(err.Error(), "3s or 200ms") || usage.Status(err) != 2 {
		t.Error(err)
	}
}

// The versions in the results are those of go.mod.
func TestVersionsAreThoseOfTheModule(t *testing.T) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"deneonet/benc " + bencVersion, "mus-format/mus-go " + musVersion, "tinylib/msgp " + msgpVersion,
		"google.golang.org/protobuf " + protoVersion, "=> ../..",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("go.mod does not say %q", want)
		}
	}
}

// A codec that changes a message is found out.
func TestAWrongCodecIsFoundOut(t *testing.T) {
	rows := motionRows()
	c := exact("wrong", "here", rows, handPut, func(src []byte, r *Row) error {
		err := handGet(src, r)
		r.Flags |= 1
		return err
	})
	c.buffer = make([]byte, 0, count*rowBytes)
	if err := c.round(false, false); err != nil {
		t.Fatal(err)
	}
	if c.wrong != count/2 {
		t.Errorf("%d of %d wrong", c.wrong, count)
	}
}
