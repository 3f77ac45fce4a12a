package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/internal/usage"
	"github.com/arche-netcode/netcode/quantize"
	netrecord "github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// Targets of the scenario bytes.
const (
	shippedTarget = 205  // kbit/s, all bytes, with the tables that ship (T2)
	trainedTarget = 195  // with tables trained on another recording
	movingTarget  = 22   // bits a body and snapshot where all move (T3)
	exactTarget   = 1265 // kbit/s of exact floats (T4)
	movingAnchor  = 16   // bits an object update, the best of a published comparison of engines
	exactAnchor   = 1265 // XOR with the row before, and tags of lengths
)

// otherRecording is the default training recording: a file beside the measured one.
const otherRecording = "cubes91.trace.gz"

// byteVariant is one run of the scenario bytes.
type byteVariant struct {
	name   string
	source func() (motion, error)
	dress  dress
	trip   time.Duration
	loss   float64
	tables *delta.Tables
}

// runBytes measures what one client costs: all bytes of all packets from server to client, from the first hello to the
// last frame, over the time that the motion lasts; then the same with other tables, other motion, older baselines, loss.
func runBytes(o options) error {
	shipped, err := readTables(o.tables)
	if err != nil {
		return err
	}
	trained, err := trainedTables(o)
	if err != nil {
		return err
	}
	if trained == nil && o.only == "bytes.trained" {
		return usage.Errorf("-only bytes.trained: there is nothing to train tables on; -train names a recording, other than that of -trace")
	}
	for _, v := range byteVariants(o, shipped, trained) {
		if o.only != "" && o.only != v.name {
			continue
		}
		if err := v.run(o); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
	}
	return nil
}

// byteVariants is all runs of the scenario, those with trained tables only where there are any.
func byteVariants(o options, shipped, trained *delta.Tables) []byteVariant {
	open := func() (motion, error) { return openMotion(o) }
	list := []byteVariant{{name: "bytes", source: open, dress: &quantisedDress{}, trip: bytesRoundTrip, tables: shipped}}
	if trained != nil {
		list = append(list, byteVariant{name: "bytes.trained", source: open, dress: &quantisedDress{}, trip: bytesRoundTrip, tables: trained})
	}
	list = append(list,
		byteVariant{name: "bytes.moving", source: func() (motion, error) { return newDrift(), nil }, dress: &quantisedDress{}, tables: shipped},
		byteVariant{name: "bytes.exact", source: open, dress: &exactDress{}, trip: bytesRoundTrip, tables: shipped})
	for _, frames := range []time.Duration{0, 2, 4, 12, 18, 30, 60} { // of 0, acks come in the next frame
		trip := frames * time.Second / bytesHz
		list = append(list, byteVariant{name: "bytes.age", source: open, dress: &quantisedDress{}, trip: trip, tables: shipped})
	}
	for _, loss := range []float64{0.01, 0.10, 0.30} {
		list = append(list, byteVariant{name: "bytes.loss", source: open, dress: &quantisedDress{}, trip: bytesRoundTrip, loss: loss, tables: shipped})
	}
	return list
}

// run plays a variant and reports it.
func (v byteVariant) run(o options) error {
	source, err := v.source()
	if err != nil {
		return err
	}
	if v.name != "bytes.moving" && source.hz() != bytesHz {
		return fmt.Errorf("motion at %d Hz, this scenario is for %d", source.hz(), bytesHz)
	}
	link := transport.Link{Delay: v.trip / 2}
	b, err := newDressedRun(source, link, v.tables, v.dress)
	if err != nil {
		return err
	}
	if err := b.join(); err != nil {
		return err
	}
	link.Loss = v.loss
	b.setLink(link)
	verified := b.play
	if v.loss > 0 {
		verified = b.playLossy
	}
	return v.finish(o, b, verified())
}

// playLossy plays what is left of the motion over a link that loses, where a client that lacks a packet is behind in some
// bodies and is not compared; then the loss stops, and the client has to come to the server's world.
func (b *byteRun) playLossy() error {
	for {
		err := b.move()
		if errors.Is(err, errEnded) {
			break
		}
		if err != nil {
			return err
		}
		b.advance()
	}
	lossy := *b.serverSocket
	b.setLink(transport.Link{Delay: bytesRoundTrip / 2})
	var err error
	for range 4 * bytesHz {
		b.advance()
		if err = b.compareWorlds(b.client.Replica().Tick()); err == nil {
			break
		}
	}
	b.serverSocket.sent, b.serverSocket.sentBytes, b.serverSocket.headerBytes = lossy.sent, lossy.sentBytes, lossy.headerBytes
	return err
}

// finish reports a run.
func (v byteVariant) finish(o options, b *byteRun, verified error) error {
	if verified != nil {
		b.mismatches++
	}
	b.report(o, v, verified == nil)
	return verified
}

// report prints the line, with a target when the motion is the one that the target speaks of.
func (b *byteRun) report(o options, v byteVariant, verified bool) {
	seconds := float64(b.frames) / float64(b.rate)
	sent, headers := float64(b.serverSocket.sentBytes)*8, float64(b.serverSocket.headerBytes)*8
	steady := float64(b.serverSocket.sentBytes-b.joined) * 8
	r := result{
		Scenario: v.name, Value: sent / seconds / 1000, Unit: "kbit/s",
		Params: map[string]any{
			"motion": b.source.name(), "bodies": len(b.bodies), "frames": b.frames, "rtt_ms": float64(v.trip.Microseconds()) / 1000, "loss": v.loss,
			"packets": b.serverSocket.sent, "bytes": b.serverSocket.sentBytes, "join_bytes": b.joined,
			"changed_bodies_per_frame": float64(b.changed.total) / float64(max(b.frames-1, 1)),
			"bits_per_changed_body":    steady / float64(max(b.changed.total, 1)),
			"header_kbit":              headers / seconds / 1000,
			"header_share":             headers / sent,
			"verified_frames":          b.verified, "verified": verified,
			"baseline_age": max(math.Round(v.trip.Seconds()*float64(b.rate)), 1),
		},
	}
	recorded := o.trace != ""
	switch {
	case v.name == "bytes.moving":
		r.Value, r.Unit = steady/float64(len(b.bodies)*max(b.frames-1, 1)), "bits/body"
		r = r.against(movingAnchor).valueTarget(movingTarget, verified)
		r.Params["anchor"] = "the best of a published comparison of engines, 250 bodies at 30 Hz"
		r.Main = true
	case !recorded:
		r.Params["note"] = "no -trace: generated motion, which the target does not speak of"
	case v.name == "bytes.exact":
		r = r.against(exactAnchor).valueTarget(exactTarget, verified)
		r.Params["anchor"] = "XOR and tags of lengths, payload alone, on cubes45"
		r.Main = true
	case v.name == "bytes" || v.name == "bytes.trained":
		r = r.against(bytesAnchor).valueTarget(shippedTarget, verified)
		if v.name == "bytes.trained" {
			r = r.valueTarget(trainedTarget, verified)
		}
		r.Params["anchor"] = "bit-packing as in the articles, payload alone, on cubes45"
		r.Main = v.name == "bytes"
	}
	o.report(r)
}

// trainedTables learns from the recording that -train names or, when one is measured, from the other one beside it. It is
// never the one that is measured.
func trainedTables(o options) (*delta.Tables, error) {
	name := o.train
	if name == "" && o.trace != "" {
		name = filepath.Join(filepath.Dir(o.trace), otherRecording)
		if _, err := os.Stat(name); err != nil || name == filepath.Clean(o.trace) {
			return nil, nil
		}
	}
	if name == "" || o.only != "" && o.only != "bytes.trained" {
		return nil, nil
	}
	if a, b := filepath.Clean(name), filepath.Clean(o.trace); a == b {
		return nil, errors.New("tables are not trained on the recording that is measured")
	}
	source, err := openRecording(name)
	if err != nil {
		return nil, err
	}
	return learn(source)
}

// learn makes tables from motion, as cmd/netcode does from a server's recording.
func learn(source motion) (*delta.Tables, error) {
	var plans []*quantize.Plan
	for _, t := range []reflect.Type{reflect.TypeFor[traceInteracting](), reflect.TypeFor[traceOrientation](), reflect.TypeFor[tracePosition]()} {
		p, err := quantize.Compile(t, t.Name())
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	trainer := delta.NewTrainer()
	counting := delta.NewCounting(trainer, false)
	training, err := netrecord.NewTraining(plans, counting, netrecord.Trips(source.hz())...)
	if err != nil {
		return nil, err
	}
	training.Store.Watch(counting.Count)
	var ids []wire.NetworkID
	lanes := make([]uint32, 8)
	for now := tick.Tick(1); ; now++ {
		bodies, more, err := source.next()
		if err != nil {
			return nil, err
		}
		if !more {
			return trainer.BuildKnown(netrecord.LeastCounted)
		}
		s := training.Store
		s.Begin(now)
		for i := range bodies {
			if len(ids) == i {
				ids = append(ids, s.Spawn())
			}
			p, q, on := bodies[i].quantisedParts()
			setRow(s, ids[i], 0, &on, lanes)
			setRow(s, ids[i], 1, &q, lanes)
			setRow(s, ids[i], 2, &p, lanes)
		}
		s.Commit()
		if err := training.Send(); err != nil {
			return nil, err
		}
	}
}
