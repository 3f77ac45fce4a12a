package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/arche-netcode/netcode/internal/replica"
)

const (
	javascriptTicks  = 900 // recorded; the second half counts
	javascriptTarget = 3   // us a record
	javascriptTool   = "clients/js/tools/bench.mjs"
)

// javascriptFile is the input of the tool.
type javascriptFile struct {
	Entries []string   `json:"entries"`
	Window  int        `json:"window"`
	Ticks   [][]string `json:"ticks"` // payloads in hexadecimal
}

// runJavascript times clients/js in Node on what a client receives of 1000 bodies that move, against the Go client on the same payloads.
func runJavascript(o options) error {
	node, err := exec.LookPath("node")
	if err != nil {
		return errors.New("no node here")
	}
	tool := javascriptTool
	if _, err := os.Stat(tool); err != nil {
		tool = filepath.Join("..", tool)
	}
	for _, exact := range []bool{false, true} {
		s := realScene{entities: 1000, clients: 1, moving: 1, exact: exact}
		payloads, err := javascriptPayloads(s)
		if err != nil {
			return err
		}
		in, err := javascriptInput(s, payloads)
		if err != nil {
			return err
		}
		goes, err := javascriptAnchor(s, payloads)
		if err != nil {
			return err
		}
		out, err := exec.Command(node, "--expose-gc", tool, in).Output()
		_ = os.Remove(in)
		if err != nil {
			return fmt.Errorf("node: %w", err)
		}
		var got struct{ Records, Us, Garbage float64 }
		if err := json.Unmarshal(out, &got); err != nil {
			return err
		}
		params := map[string]any{"exact": exact, "records": int(got.Records), "garbage_bytes": math.Round(got.Garbage), "percent_of_core_30hz": math.Round(got.Us*1000*30/1e4*10) / 10}
		o.report(result{Scenario: "javascript", Value: got.Us, Unit: "us/record", Main: !exact, Params: params}.against(goes).valueTarget(javascriptTarget, true))
	}
	return nil
}

// javascriptPayloads returns what the client receives in each tick.
func javascriptPayloads(s realScene) ([][][]byte, error) {
	r := newRealRun(s, realNetwork{loss: .05, jitter: 1, classes: 4, seed: 1})
	all := make([][][]byte, javascriptTicks)
	for t := range all {
		r.clients[0].received = func(p []byte) { all[t] = append(all[t], bytes.Clone(p)) }
		if err := r.playTick(false); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func javascriptInput(s realScene, payloads [][][]byte) (string, error) {
	file := javascriptFile{Entries: bodyProtocol(s.exact).Description(), Window: int(s.config().Window)}
	for _, list := range payloads {
		texts := []string{}
		for _, p := range list {
			texts = append(texts, hex.EncodeToString(p))
		}
		file.Ticks = append(file.Ticks, texts)
	}
	out, err := os.CreateTemp("", "netcode-*.json")
	if err != nil {
		return "", err
	}
	err = json.NewEncoder(out).Encode(&file)
	return out.Name(), errors.Join(err, out.Close())
}

// javascriptAnchor returns the microseconds a record of the Go client, the fastest of some passes.
func javascriptAnchor(s realScene, payloads [][][]byte) (float64, error) {
	schema, fastest := bodyProtocol(s.exact).Schema(), math.Inf(1)
	for range 8 {
		client, took, before := replica.New(schema, s.config(), 1), 0., uint64(0)
		for t, list := range payloads {
			if t == len(payloads)/2 {
				took, before = 0, client.Stats().Records
			}
			var err error
			took += timed(func() {
				for _, p := range list {
					err = errors.Join(err, client.Read(p))
				}
			})
			if err != nil {
				return 0, err
			}
		}
		fastest = min(fastest, took/float64(client.Stats().Records-before)/1000)
	}
	return fastest, nil
}
