package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/examples/brawl/rules"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/wire"
)

func main() {
	step, err := 0, error(nil)
	if len(os.Args) == 2 {
		_, err = fmt.Sscan(os.Args[1], &step)
	}
	if err != nil || step < 1 || step > 5 {
		fmt.Fprintln(os.Stderr, "usage: go run ./steps N, from 1 to 5")
		os.Exit(2)
	}
	if err := run(os.Stdout, step); err != nil {
		fmt.Fprintln(os.Stderr, "steps:", err)
		os.Exit(1)
	}
}

// run runs a step: Ann and Ben are there in each.
func run(out io.Writer, step int) error {
	t, err := newTable(out, rules.Options{Length: 10 * time.Second})
	if err != nil {
		return err
	}
	ann, err := t.join("Ann", false)
	if err != nil {
		return err
	}
	ben, err := t.join("Ben", false)
	if err != nil {
		return err
	}
	t.run(time.Second)
	return []func(*table, *player, *player) error{move, shoot, fight, match, people}[step-1](t, ann, ben)
}

// move: Ann's own screen answers in the frame of the press, the server a trip later in the same tick, Ben's screen smoothly behind.
func move(t *table, ann, ben *player) error {
	from := ann.shown("Ann").X
	t.say("Ann presses right, and dashes")
	ann.control = rules.Control{X: 1, Dash: true}
	for range 8 {
		t.run(50 * time.Millisecond)
		t.say("Ann has gone %4.2f m on her screen, %4.2f m at the server, %4.2f m on Ben's screen", ann.shown("Ann").X-from, t.of("Ann").X-from, ben.shown("Ann").X-from)
	}
	ann.control = rules.Control{}
	t.run(2 * time.Second)
	t.say("at rest: %.3f, %.3f, %.3f; %d mispredictions", ann.shown("Ann").X, t.of("Ann").X, ben.shown("Ann").X, ann.Sim.Stats().Mispredictions)
	return nil
}

// shoot: a bolt is Ann's at once, the server's in the same tick, and once each.
func shoot(t *table, ann, ben *player) error {
	shots := map[string]int{}
	heard := func(who string) func(predict.Effect) {
		return func(e predict.Effect) {
			if e.Kind == rules.Muzzle {
				shots[who]++
				t.say("%s: shot %d, of tick %d", who, shots[who], e.Tick)
			}
		}
	}
	ann.Sim.OnEffect(heard("Ann hears"))
	t.sim.OnEffect(heard("the server makes"))
	seen := 0
	t.each = func() {
		if n := len(ben.view.Scene().Bolts); n > seen {
			t.say("Ben sees %d bolts fly", n)
			seen = n
		}
	}
	t.say("Ann holds the trigger")
	ann.control = rules.Control{AimX: 1, Fire: true}
	t.run(400 * time.Millisecond)
	ann.control = rules.Control{}
	t.run(time.Second)
	t.say("Ann heard %d shots, the server made %d", shots["Ann hears"], shots["the server makes"])
	return nil
}

// fight: the server judges hits where the shooter saw the other one, who dies and returns.
func fight(t *table, ann, ben *player) error {
	for _, p := range []*player{ann, ben} {
		if err := t.walk(p, rules.Body{X: 5 + 38*float32(p.shown(p.name).Team), Y: 15}); err != nil {
			return err
		}
	}
	t.run(time.Second)
	ben.control.Y = 1 // He runs on while she shoots.
	t.run(300 * time.Millisecond)
	for ben.shown("Ben").Dead == 0 {
		at, aim := ann.shown("Ann"), ann.shown("Ben")
		ann.control.AimX, ann.control.AimY = rules.Unit(aim.X-at.X, aim.Y-at.Y, 1, 0)
		ann.control.Rail = true
		t.say("Ann shoots where she sees Ben, at %.2f; for the server he is at %.2f", aim.Y, t.of("Ben").Y)
		t.run(200 * time.Millisecond)
		t.say("Ben has %d points on Ann's screen", ann.shown("Ben").Points)
		ben.control.Y = -ben.control.Y
		t.run(1200 * time.Millisecond)
		if t.now > time.Minute {
			return fmt.Errorf("nobody is hit")
		}
	}
	t.say("Ben is dead on his screen, for %d more ticks", ben.shown("Ben").Dead)
	if err := t.until("Ben returns", func() bool { return ben.shown("Ben").Dead == 0 }); err != nil {
		return err
	}
	ben.control = rules.Control{}
	t.run(300 * time.Millisecond)
	t.say("Ben is back on his screen, at %.2f, %.2f", ben.shown("Ben").X, ben.shown("Ben").Y)
	t.run(time.Second)
	t.say("for the server he is at %.2f, %.2f, with %d points; Ann has %d kill", t.of("Ben").X, t.of("Ben").Y, ann.shown("Ben").Points, t.of("Ann").Kills)
	return nil
}

// match: phases change in the same tick everywhere, without a message.
func match(t *table, ann, ben *player) error {
	names := []string{"lobby", "loading", "countdown", "play", "the end"}
	last := map[string]uint8{}
	t.each = func() {
		for _, p := range []*player{ann, ben} {
			if c := p.view.Scene().Clock; c.Phase != last[p.name] {
				last[p.name] = c.Phase
				t.say("%s's tick %d: %s", p.name, p.Sim.Tick(), names[c.Phase])
			}
		}
		if c := t.match.Clock(); c.Phase != last["server"] {
			last["server"] = c.Phase
			t.say("the server's tick %d: %s of level %d", t.sim.Tick(), names[c.Phase], c.Level)
		}
	}
	t.say("both are ready")
	for _, p := range []*player{ann, ben} {
		if err := netcode.Send(p.Client, netcode.ToServer(), &rules.Ready{Is: true}); err != nil {
			return err
		}
	}
	return t.until("the next level", func() bool { c := t.match.Clock(); return c.Level == 1 && c.Phase == rules.Play })
}

// people: one crashes and returns, one comes late, one watches, and they talk.
func people(t *table, ann, ben *player) error {
	seat, client := t.of("Ben").Seat, ben.Client.ID()
	t.say("Ben, client %d in seat %d, crashes", client, seat)
	ben.gone = true
	t.run(2 * time.Second)
	back, err := t.join("Ben", false)
	if err != nil {
		return err
	}
	t.say("Ben is back: client %d in seat %d, at %.2f on his screen and %.2f at the server", back.Client.ID(), back.shown("Ben").Seat, back.shown("Ben").X, t.of("Ben").X)
	if _, err := t.join("Cleo", false); err != nil {
		return err
	}
	eve, err := t.join("Eve", true)
	if err != nil {
		return err
	}
	t.say("Cleo plays, Eve watches: she sees %d avatars, and nobody sees hers", len(eve.view.Scene().Avatars))
	if err := netcode.Send(ann.Client, netcode.ToServer(), &rules.Say{Text: wire.NewText[[128]byte]("a second round?")}); err != nil {
		return err
	}
	t.run(time.Second)
	return nil
}
