package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"time"
)

const (
	realBytesTarget = 1.06 // times the bytes of the same classes without loss and jitter
	// realWarmUp is the number of ticks before measuring: as warmUp, until the ring of the history has gone round.
	realWarmUp = warmUp
	// realTurns is the number of ticks of one network before the other one has its turn.
	realTurns = 16
	// realTicks is the least number of measured ticks.
	realTicks = 2 * realTurns
)

// flags adds those of a network, with these defaults.
func (n *realNetwork) flags(f *flag.FlagSet, loss float64, jitter, classes int) {
	f.Float64Var(&n.loss, "loss", loss, "scenario real: part of the datagrams that is lost, in each direction")
	f.IntVar(&n.jitter, "jitter", jitter, "scenario real: ticks by which what the server sends in one tick arrives late, at most")
	f.IntVar(&n.classes, "classes", classes, "scenario real: classes of round trips among the clients: of 6, 2, 4 and 9 ticks the first so many")
	f.Uint64Var(&n.seed, "seed", 1, "scenario real: seed of loss and jitter")
}

// validate reports which number is out of its range.
func (n *realNetwork) validate() error {
	switch {
	case !(n.loss >= 0 && n.loss <= 0.9):
		return takes().Wrong("loss", n.loss)
	case n.jitter < 0 || n.jitter > maxRealJitter:
		return takes().Wrong("jitter", n.jitter)
	case n.classes < 1 || n.classes > len(realTrips()):
		return takes().Wrong("classes", n.classes)
	}
	return nil
}

// perfect is the network that loses nothing and delays everything alike.
func (n realNetwork) perfect() realNetwork { return realNetwork{classes: 1, seed: n.seed} }

// punctual is this network without loss and jitter.
func (n realNetwork) punctual() realNetwork { return realNetwork{classes: n.classes, seed: n.seed} }

// realScenes is the default set, or the scene that the flags name.
func realScenes(o options) []realScene {
	if o.sight > 0 {
		return []realScene{{entities: cmp.Or(o.entities, 10000), clients: cmp.Or(o.clients, 64), moving: 1, sight: o.sight}}
	}
	if o.entities > 0 || o.clients > 0 || o.moving > 0 {
		return []realScene{{entities: cmp.Or(o.entities, 1000), clients: cmp.Or(o.clients, 64), moving: cmp.Or(o.moving, 1), exact: o.exact}}
	}
	if o.exact {
		return []realScene{{entities: 1000, clients: 16, moving: 1, exact: true}}
	}
	return []realScene{
		{entities: 1000, clients: 64, moving: 1}, {entities: 1000, clients: 16, moving: 1}, {entities: 1000, clients: 16, moving: 1, exact: true},
	}
}

// realTarget is the most milliseconds that the server's sending may take in a scene, 0 where there is no target.
func realTarget(s realScene, n realNetwork) float64 {
	type cell struct {
		entities, clients int
		moving            float64
	}
	if n.classes != 4 || s.exact {
		return 0
	}
	at := cell{s.entities, s.clients, s.moving}
	switch {
	case s.sight > 0 && (s.sight != 200 || s.entities != 10000 || s.clients != 64 || n.loss != 0.05 || n.jitter != 1):
		return 0
	case s.sight > 0:
		return 1.5
	case n.loss == 0.20 && n.jitter == 2:
		return map[cell]float64{{1000, 64, 1}: 5}[at]
	case n.loss == 0.05 && n.jitter == 1:
		return map[cell]float64{{1000, 64, 1}: 2.5, {1000, 16, 1}: 0.7, {10000, 64, 0.1}: 3, {40000, 64, 0.1}: 14}[at]
	}
	return 0
}

// runReal measures what the server does to send a tick to clients on a network that loses datagrams and delays them, beside
// the same on a perfect network.
func runReal(o options) error {
	for _, s := range realScenes(o) {
		var err error
		if o.only == "" || o.only == "real" {
			err = measureReal(s, o)
		}
		if sockets := s.sight == 0 && s.entities*s.clients <= realSocketRows; err == nil && sockets && (o.only == "" || o.only == "real.server") {
			err = measureSockets(s, o)
		}
		if err != nil {
			return fmt.Errorf("%+v, %+v: %w", s, o.network, err)
		}
	}
	if alone := o.only == "" && len(realScenes(o)) > 1; alone || o.only == "real.client" {
		if err := measureRealApply(o); err != nil {
			return fmt.Errorf("real.client: %w", err)
		}
	}
	if alone := o.only == "" && len(realScenes(o)) > 1; alone || o.only == "real.frame" {
		if err := measureRealFrame(o); err != nil {
			return fmt.Errorf("real.frame: %w", err)
		}
	}
	return nil
}

// realLines is the parts of the scenario real that -only chooses from: what the views do, whole ticks, and a client's own work. Of
// these two the last are not part of one scene.
func realLines() []string { return []string{"real", "real.server", "real.client", "real.frame"} }

// measureReal plays a scene on the network and on the perfect one, by turns.
func measureReal(s realScene, o options) error {
	punctual := newRealRun(s, o.network.punctual())
	err := errors.Join(punctual.playTicks(realWarmUp, false), punctual.measureTicks(realTicks))
	if err != nil {
		return fmt.Errorf("without loss: %w", err)
	}
	line := punctual.figures()
	punctual = nil
	real, perfect := newRealRun(s, o.network), newRealRun(s, o.network.perfect())
	for _, r := range []*realRun{perfect, real} {
		if err := r.playTicks(realWarmUp, false); err != nil {
			return err
		}
	}
	for start := time.Now(); time.Since(start) < o.budget || len(real.sends) < realTicks; {
		if err := errors.Join(perfect.measureTicks(realTurns), real.measureTicks(realTurns)); err != nil {
			return err
		}
	}
	for _, r := range []*realRun{perfect, real} {
		if err := errors.Join(r.countAllocations(), r.heal()); err != nil {
			return err
		}
	}
	reportReal(o, real, perfect, line)
	return nil
}

// realFigures are the figures of a run.
type realFigures struct {
	send, capture float64 // ns of processor, medians
	bytes         float64 // a client and tick
}

func (r *realRun) figures() realFigures {
	return realFigures{send: median(r.sends), capture: median(r.captures), bytes: float64(r.counted.bytes) / float64(r.ticks) / float64(r.realScene.clients)}
}

// reportReal prints the lines of a scene.
func reportReal(o options, real, perfect *realRun, punctual realFigures) {
	got, ideal := real.figures(), perfect.figures()
	ticks := float64(real.ticks)
	k := real.counted
	params := func() map[string]any {
		return map[string]any{
			"entities": real.entities, "clients": real.realScene.clients, "moving": real.moving, "exact": real.exact, "sight": real.sight,
			"loss": o.network.loss, "jitter": o.network.jitter, "classes": o.network.classes, "seed": o.network.seed, "ticks": real.ticks, "sent_packets": realSentPackets(real.realScene.records()),
		}
	}
	line := result{Scenario: "real", Value: got.send / 1e6, Unit: "ms/tick", Params: params(), Main: real.entities == 1000 && real.realScene.clients == 64}
	for name, value := range map[string]any{
		"anchor": "perfect network, one class", "wall_ms": median(real.walls) / 1e6, "perfect_wall_ms": median(perfect.walls) / 1e6, "classes_alone_ms": punctual.send / 1e6,
		"p95_ms": quantile(real.sends, 0.95) / 1e6, "fastest_ms": quantile(real.sends, 0) / 1e6,
		"ratio_of_fastest": quantile(real.sends, 0) / quantile(perfect.sends, 0),
		"acks_ms":          median(real.acks) / 1e6, "observe_ms": median(real.serves) / 1e6, "write_ms": median(real.writes) / 1e6,
		"records": float64(k.records) / ticks, "spawns": float64(k.spawns) / ticks, "resent": float64(k.resent) / ticks,
		"bodies_encoded": float64(k.made) / ticks, "bodies_shared": float64(k.again) / max(float64(k.made+k.again), 1),
		"lists_copied": float64(k.lists) / ticks, "packets": float64(k.sent) / ticks, "lost": float64(k.lost) / max(float64(k.sent), 1), "late_acks": float64(k.late) / ticks, "ring_full": float64(k.full) / ticks,
		"allocs_per_tick": real.allocations, "perfect_allocs_per_tick": perfect.allocations,
		"decoders": min(realDecoders(o.network), real.realScene.clients), "rows_compared": real.compared + perfect.compared,
	} {
		line.Params[name] = value
	}
	line = line.against(ideal.send / 1e6)
	if target := realTarget(real.realScene, o.network); target > 0 {
		line = line.valueTarget(target, real.compared > 0)
	}
	o.report(line)
	bytes := result{Scenario: "real.bytes", Value: got.bytes, Unit: "B/client", Params: params()}
	bytes.Params["anchor"], bytes.Params["perfect"], bytes.Params["ratio_of_perfect"] = "the same classes, no loss, no jitter", ideal.bytes, got.bytes/ideal.bytes
	o.report(bytes.against(punctual.bytes).ratioTarget(realBytesTarget, real.compared > 0))
	if real.interest != nil {
		line := result{Scenario: "real.interest", Value: median(real.judges) / 1e6, Unit: "ms/tick", Params: params()}
		line.Params["seen"] = real.seen()
		o.report(line.against(median(perfect.judges) / 1e6))
	}
	o.report(result{Scenario: "real.capture", Value: got.capture / 1e6, Unit: "ms/tick", Params: params()}.against(ideal.capture / 1e6))
}
