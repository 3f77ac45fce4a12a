package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

const (
	lossTarget      = 1.05    // times the bytes without loss and what loss adds to bit-packing over the same network (T9)
	stalenessTarget = 1.0 / 3 // of the reliable stream's (T9, what would be better than needed)
	lossFrames      = 1500    // of motion with loss, at most; what is left of it shows the recovery
	movingFor       = 30      // ticks for which a body that moved counts as moving
)

// lossPoint is one network.
type lossPoint struct {
	roundTrip time.Duration
	loss      float64 // of each datagram on its own, in both directions
	burst     transport.GilbertElliott
}

func (p lossPoint) link() transport.Link {
	return transport.Link{Delay: p.roundTrip / 2, Loss: p.loss, BurstLoss: p.burst}
}

// label selects a network without bursts, such as 20/50: its round trip in ms and its loss in percent.
func (p lossPoint) label() string {
	return fmt.Sprintf("%d/%d", p.roundTrip/time.Millisecond, int(p.loss*100+0.5))
}

// only reports whether a network is the one of a name, or the one without loss that this one is held against.
func (p lossPoint) only(name string) bool {
	clean := lossPoint{roundTrip: p.roundTrip}.label()
	return p.burst.Length == 0 && p.label() == name || p.total() == 0 && strings.HasPrefix(name, strings.TrimSuffix(clean, "0"))
}

// total is the part of all datagrams that is lost.
func (p lossPoint) total() float64 {
	inBursts := p.burst.Enter * p.burst.Length
	return p.loss + inBursts/(1+inBursts)
}

// lossPoints begins each round trip with no loss, which the others of it are held against.
func lossPoints() []lossPoint {
	var points []lossPoint
	for _, loss := range []float64{0, 0.01, 0.05, 0.10, 0.20, 0.30, 0.50} {
		points = append(points, lossPoint{roundTrip: 100 * time.Millisecond, loss: loss})
	}
	for _, burst := range []transport.GilbertElliott{{Enter: 0.01, Length: 8}, {Enter: 0.05, Length: 5}} {
		points = append(points, lossPoint{roundTrip: 100 * time.Millisecond, burst: burst})
	}
	for _, ms := range []time.Duration{20, 300} {
		for _, loss := range []float64{0, 0.10, 0.50} {
			points = append(points, lossPoint{roundTrip: ms * time.Millisecond, loss: loss})
		}
	}
	return points
}

// openMotion is the recording that -trace names, or generated motion.
func openMotion(o options) (motion, error) {
	if o.trace == "" {
		return newGenerated(), nil
	}
	return openRecording(o.trace)
}

// runLoss plays the motion over each network: bytes, how old the client's bodies are, and how long it takes the client to
// be in step again once the loss has stopped.
func runLoss(o options) error {
	summary := lossSummary{recorded: o.trace != ""}
	source, err := openMotion(o)
	if err != nil {
		return err
	}
	frames, err := quantisedFrames(source, lossFrames)
	if err != nil {
		return err
	}
	var clean *lossRun
	for _, p := range lossPoints() {
		if o.only != "" && !p.only(o.only) {
			continue
		}
		source, err := openMotion(o)
		if err != nil {
			return err
		}
		run, err := playLoss(source, p, lossFrames)
		if err != nil {
			return fmt.Errorf("%+v: %w", p, err)
		}
		if run.packed, err = playPacked(frames, &run.changes, p); err != nil {
			return fmt.Errorf("%+v, bit-packing: %w", p, err)
		}
		if p.total() == 0 {
			clean = run
		}
		stream, err := playStream(clean.perFrame, clean.changes, p)
		if err != nil {
			return fmt.Errorf("%+v, the reliable stream: %w", p, err)
		}
		summary.addRun(o, run, clean, stream)
		if err := reportWhole(o, p); err != nil {
			return fmt.Errorf("%+v, whole ticks: %w", p, err)
		}
	}
	summary.printLoss(o)
	return nil
}

// lossRun is one motion over one network.
type lossRun struct {
	point     lossPoint
	bytes     int64   // from the moment that loss began to the moment that it stopped
	frames    int     // in between
	perFrame  []int   // bytes that the server sent in each of them
	changes   changes // of the bodies, by number of frame from the same moment
	staleness histogram
	packed    *packed // what bit-packing takes over the same network
	converged int     // frames after the loss stopped until the client was in step for good
	verified  int     // frames after that in which it was compared
	reference tick.Tick
	ids       []wire.NetworkID // by body
	last      [][]uint32       // by body: its rows at the server
	lanes     []uint32
}

// playLoss joins over a good network, and then loses datagrams for a number of frames.
func playLoss(source motion, p lossPoint, frames int) (*lossRun, error) {
	b, err := newByteRunOver(source, transport.Link{Delay: p.roundTrip / 2}, nil)
	if err != nil {
		return nil, err
	}
	if err := b.join(); err != nil {
		return nil, err
	}
	r := &lossRun{point: p, reference: b.server.Tick(), changes: changes{at: make([][]int32, len(b.bodies))}}
	r.ids, r.last = make([]wire.NetworkID, len(b.entities)), make([][]uint32, len(b.entities))
	for i, e := range b.entities {
		r.ids[i], _ = b.serverFrame.ID(e)
	}
	r.changed(b)
	b.setLink(p.link())
	for before := b.serverSocket.sentBytes; r.frames < frames; r.frames++ {
		if err := b.move(); errors.Is(err, errEnded) {
			return nil, fmt.Errorf("the motion has only %d frames", b.frames)
		} else if err != nil {
			return nil, err
		}
		sent := b.serverSocket.sentBytes
		b.advance()
		r.perFrame = append(r.perFrame, int(b.serverSocket.sentBytes-sent))
		if err := r.observe(b); err != nil {
			return nil, err
		}
		r.bytes = b.serverSocket.sentBytes - before
	}
	b.setLink(transport.Link{Delay: p.roundTrip / 2})
	return r, r.recover(b)
}

// setLink changes both directions.
func (b *byteRun) setLink(link transport.Link) {
	for _, l := range b.links {
		l.SetLink(link)
	}
}

// changed returns the bodies whose rows at the server changed since the last call.
func (r *lossRun) changed(b *byteRun) (which []int) {
	store, rows := b.server.Store(), b.server.Protocol().Schema().Rows()
	for i, id := range r.ids {
		r.lanes = r.lanes[:0]
		for row := range rows {
			r.lanes = append(r.lanes, store.Row(id, row)...)
		}
		if !slices.Equal(r.lanes, r.last[i]) {
			r.last[i] = append(r.last[i][:0], r.lanes...)
			which = append(which, i)
		}
	}
	return which
}

// observe takes in which bodies changed in this frame, and how old each moving body is at the client.
func (r *lossRun) observe(b *byteRun) error {
	r.changes.addBodies(r.changed(b))
	now := len(r.changes.moved) - 1
	if want := int(b.server.Tick() - r.reference - 1); now != want {
		return fmt.Errorf("frame %d is tick %d: there must be a tick in each", now, want)
	}
	for i, id := range r.ids {
		if r.changes.moving(i, now) {
			asOf := int(b.client.Replica().Entity(id.Index).Tick - r.reference - 1) // a frame
			r.staleness.add(r.changes.age(i, asOf, now))
		}
	}
	return nil
}

// recover plays the rest of the motion without loss and finds the frame from which on the client is in step.
func (r *lossRun) recover(b *byteRun) error {
	var last error
	for n := 0; ; n++ {
		if err := b.move(); errors.Is(err, errEnded) {
			break
		} else if err != nil {
			return err
		}
		b.advance()
		if err := b.compareWorlds(b.client.Replica().Tick()); err != nil {
			last, r.converged, r.verified = err, n+1, 0
			continue
		}
		r.verified++
	}
	if r.verified < bytesHz {
		return fmt.Errorf("in step for %d frames only at the end: %w", r.verified, last)
	}
	if len(b.faults) > 0 {
		return fmt.Errorf("%d faults, the first: %w", len(b.faults), b.faults[0])
	}
	return nil
}

// changes says in which frames each body changed.
type changes struct {
	at    [][]int32 // by body, ascending frames
	moved []int     // by frame: how many bodies
}

func (c *changes) addBodies(bodies []int) {
	frame := int32(len(c.moved))
	for _, i := range bodies {
		c.at[i] = append(c.at[i], frame)
	}
	c.moved = append(c.moved, len(bodies))
}

// upTo is the number of changes of a body in frames up to and including one.
func (c *changes) upTo(body, frame int) int {
	return sort.Search(len(c.at[body]), func(k int) bool { return int(c.at[body][k]) > frame })
}

// moving reports whether a body changed lately.
func (c *changes) moving(body, now int) bool {
	n := c.upTo(body, now)
	return n > 0 && now-int(c.at[body][n-1]) < movingFor
}

// age is for how many frames what was true of a body as of one frame has been wrong, 0 when it is still right.
func (c *changes) age(body, known, now int) int {
	n := c.upTo(body, known)
	if n == len(c.at[body]) || int(c.at[body][n]) > now {
		return 0
	}
	return now - int(c.at[body][n]) + 1
}

// histogram counts whole numbers.
type histogram struct {
	counts []int
	total  int
}

func (h *histogram) add(v int) {
	v = max(v, 0)
	if v >= len(h.counts) {
		h.counts = slices.Grow(h.counts, v+1-len(h.counts))[:v+1]
	}
	h.counts[v]++
	h.total++
}

// quantile is the smallest number that at least a part q of all is not above.
func (h *histogram) quantile(q float64) int {
	need, sum := int(math.Ceil(q*float64(h.total))), 0
	for v, n := range h.counts {
		if sum += n; sum >= need {
			return v
		}
	}
	return 0
}

// lossSummary prints a line for each network and remembers the worst of each kind.
type lossSummary struct {
	recorded                     bool
	bytes, recovery, staleness   float64
	bytesAt, recoveryAt, staleAt lossPoint
}

func (s *lossSummary) addRun(o options, r, clean *lossRun, stream *histogram) {
	curve := float64(r.packed.bits) / float64(clean.packed.bits)
	params := func() map[string]any {
		return map[string]any{
			"rtt_ms": int(r.point.roundTrip / time.Millisecond), "loss": r.point.loss, "lost_in_all": r.point.total(),
			"burst_length": r.point.burst.Length, "frames": r.frames, "recorded": s.recorded,
		}
	}
	hz := func(run *lossRun) float64 { return float64(run.bytes) * 8 / float64(run.frames) * bytesHz / 1000 }
	line := result{Scenario: "loss.bytes", Value: hz(r), Unit: "kbit/s", Params: params()}.against(hz(clean) * curve)
	line.Params["anchor"] = "the run without loss, times what loss adds to bit-packing as in the articles over the same network"
	line.Params["curve"] = curve
	line.Params["of_no_loss"] = hz(r) / hz(clean)
	if s.recorded {
		line = line.ratioTarget(lossTarget, true)
	}
	o.report(line)
	if *line.Ratio > s.bytes {
		s.bytes, s.bytesAt = *line.Ratio, r.point
	}

	limit := float64(3*bytesHz*r.point.roundTrip.Milliseconds()/2)/1000 + 4
	line = result{Scenario: "loss.converged", Value: float64(r.converged), Unit: "ticks", Params: params()}.valueTarget(limit, true)
	line.Params["verified_frames"] = r.verified
	o.report(line)
	s.recovery, s.recoveryAt = worst(s.recovery, s.recoveryAt, float64(r.converged)/limit, r.point)

	line = result{Scenario: "loss.staleness", Value: float64(r.staleness.quantile(0.99)), Unit: "ticks", Params: params()}
	line = line.against(float64(stream.quantile(0.99)))
	line.Params["anchor"] = "a reliable ordered stream of the bytes of the run without loss"
	line.Params["median"], line.Params["anchor_median"] = r.staleness.quantile(0.5), stream.quantile(0.5)
	line.Params["samples"] = r.staleness.total
	line.Params["whole_snapshots"] = r.packed.staleness.quantile(0.99) // nothing that is sent once a frame is fresher
	if r.point.total() > 0 {
		line = line.ratioTarget(stalenessTarget, true)
	}
	if r.point.total() >= 0.05 {
		s.staleness, s.staleAt = worst(s.staleness, s.staleAt, *line.Ratio, r.point)
	}
	o.report(line)
}

func worst(was float64, at lossPoint, is float64, isAt lossPoint) (float64, lossPoint) {
	if is > was {
		return is, isAt
	}
	return was, at
}

// printLoss prints the worst of each kind, which answer the target.
func (s *lossSummary) printLoss(o options) {
	params := func(p lossPoint) map[string]any {
		return map[string]any{"rtt_ms": int(p.roundTrip / time.Millisecond), "lost_in_all": p.total(), "recorded": s.recorded}
	}
	line := result{Scenario: "loss", Value: s.bytes, Unit: "of curve", Params: params(s.bytesAt)}
	if s.recorded {
		line = line.valueTarget(lossTarget, true)
		line.Main = true
	}
	o.report(line)
	o.report(result{Scenario: "loss.worst_converged", Value: s.recovery, Unit: "of limit", Params: params(s.recoveryAt), Main: true}.valueTarget(1, true))
	o.report(result{Scenario: "loss.worst_staleness", Value: s.staleness, Unit: "of stream", Params: params(s.staleAt)}.valueTarget(stalenessTarget, true))
}
