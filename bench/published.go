package main

import (
	"errors"
	"fmt"
	"math"
	"time"
)

const (
	sceneWarm   = 5           // seconds that are not measured
	sceneHeader = 14 + 20 + 8 // Ethernet, IP, UDP
)

// sceneFrames is the number of frames of a motion that is measured for so many seconds.
func sceneFrames(hz, seconds int) int { return (sceneWarm + seconds) * hz }

// publishedScene is a scene that others publish figures of.
type publishedScene struct {
	name   string
	motion func() motion
	dress  func(exact bool) dress
	packed float64 // bits of a body in bit-packing of the same precision
	exact  float64 // bytes of a body in exact floats
	must   float64 // kB/s at most without delay; 0: no target
	main   bool
}

// publishedScenes are those of the scenario published.
func publishedScenes() []publishedScene {
	return []publishedScene{sineScene(), moveScene(), wanderScene(), transformScene()}
}

// publishedLines is the names of the scenes, and that of the hundred players.
func publishedLines() (names []string) {
	for _, s := range publishedScenes() {
		names = append(names, s.name)
	}
	return append(names, playersScene)
}

func runAsteroids(o options) error { return asteroidScene().run(o) }

// runPublished measures each scene, or the one that -only names.
func runPublished(o options) error {
	if (o.record != "" || o.motion != "") && (o.only == "" || o.only == playersScene) {
		return fmt.Errorf("-record and -motion are for one scene with a motion of its own, that -only names")
	}
	for _, s := range publishedScenes() {
		if o.only == "" || o.only == s.name {
			if err := s.run(o); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	if o.only == "" || o.only == playersScene {
		return runHundred(o)
	}
	return nil
}

// run measures the bytes of a scene to one client: kB/s with Ethernet, IP and UDP headers, against the payload of bit-packing.
// -record writes its motion instead, and -motion plays a recording in place of it.
func (s publishedScene) run(o options) error {
	if o.record != "" {
		return writeMotion(o.record, s.motion())
	}
	for _, exact := range []bool{false, true} {
		for _, n := range []lossPoint{{}, {roundTrip: 100 * time.Millisecond}, {roundTrip: 100 * time.Millisecond, loss: .05}} {
			source := s.motion()
			if o.motion != "" {
				recorded, err := openRecording(o.motion)
				if err != nil {
					return err
				}
				source = recorded
			}
			r, err := s.measure(source, n, exact)
			if err != nil {
				return fmt.Errorf("%s: %w", n.label(), err)
			}
			o.report(r)
		}
	}
	return nil
}

// measure plays a motion over a network.
func (s publishedScene) measure(source motion, n lossPoint, exact bool) (result, error) {
	b, err := newDressedRun(source, n.link(), nil, s.dress(exact))
	if err != nil {
		return result{}, err
	}
	kilobytes, packets, err := b.measureScene(n.loss > 0)
	if err != nil {
		return result{}, err
	}
	bits := s.packed
	if exact {
		bits = 8 * s.exact
	}
	params := map[string]any{
		"rtt_ms": int(n.roundTrip / time.Millisecond), "loss": n.loss, "exact": exact, "packets_a_tick": math.Round(packets*100) / 100,
		"hz": source.hz(), "bodies": len(b.bodies),
	}
	if a, ok := source.(*asteroids); ok {
		params["hits_a_second"] = a.hits * asteroidsHz / b.frames
	}
	r := result{Scenario: s.name, Value: kilobytes, Unit: "kB/s", Main: s.main && !exact && n.roundTrip > 0 && n.loss == 0, Params: params}
	r = r.against(float64(len(b.bodies)) * bits / 8 * float64(b.rate) / 1000)
	if s.must > 0 && !exact && n.roundTrip == 0 {
		r = r.valueTarget(s.must, true)
	}
	return r, nil
}

// measureScene plays the scene. With losses a client is behind now and then, and it is compared once at rest.
func (b *byteRun) measureScene(lossy bool) (kilobytes, packets float64, err error) {
	if err := b.join(); err != nil {
		return 0, 0, err
	}
	warm := sceneWarm * int(b.rate)
	var bytes, sent int64
	for frame := 1; ; frame++ {
		err := b.move()
		if errors.Is(err, errEnded) {
			break
		}
		if err != nil {
			return 0, 0, err
		}
		if lossy {
			b.advance()
		} else if err := b.compareFrame(); err != nil {
			return 0, 0, err
		}
		if frame == warm {
			bytes, sent = b.serverSocket.sentBytes, b.serverSocket.sent
		}
	}
	if len(b.faults) > 0 {
		return 0, 0, fmt.Errorf("%d faults, the first: %w", len(b.faults), b.faults[0])
	}
	if b.frames <= warm+1 {
		return 0, 0, fmt.Errorf("%d frames of motion, and the first %d are not measured", b.frames, warm)
	}
	bytes, sent = b.serverSocket.sentBytes-bytes, b.serverSocket.sent-sent
	seconds := float64(b.frames-1-warm) / float64(b.rate)
	if lossy { // at rest it must be the server's world
		for range 2 * b.rate {
			b.advance()
		}
		if err := b.compareWorlds(b.client.Replica().Tick()); err != nil {
			return 0, 0, err
		}
	}
	return float64(bytes+sent*sceneHeader) / 1000 / seconds, float64(sent) / seconds / float64(b.rate), nil
}
