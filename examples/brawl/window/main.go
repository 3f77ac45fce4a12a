package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/examples/brawl/line"
	"github.com/arche-netcode/netcode/examples/brawl/rules"
	"github.com/arche-netcode/netcode/examples/brawl/screen"
	"github.com/arche-netcode/netcode/examples/web/join"
	"github.com/arche-netcode/netcode/systems"
)

// choice has the flags of a player.
type choice struct {
	url          string // Of the host; a page knows its own.
	name, secret string
	watch        bool
	auto         bool // A bot plays.
	f1           bool
	delay        time.Duration // Of the line, each way,
	loss         float64       // and its loss, from 0 to 1.
	note         string
	panel        func(screen.Panel)
	shots        screen.Shots
}

// play joins a host and shows the game until it ends.
func play(c choice) error {
	dial := func() (line.Inner, string, error) {
		limited, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		socket, by, err := join.Dial(limited, c.url)
		if err != nil {
			return nil, "", err
		}
		inner, ok := socket.(line.Inner)
		if !ok {
			return nil, "", errors.New("a socket without Close")
		}
		return inner, by, nil
	}
	inner, by, err := dial()
	if err != nil {
		return err
	}
	now := systems.WallClock()
	l := line.New(inner, now)
	l.Delay, l.Loss = c.delay, c.loss
	l.Redial = func() (line.Inner, error) {
		next, _, err := dial()
		return next, err
	}
	client, err := netcode.NewClient(rules.Protocol(), rules.ClientConfig())
	if err != nil {
		return err
	}
	world := ecs.NewWorld()
	group := systems.NewClient(client, l, now)
	player := rules.Join(group, &world)
	var ended error
	client.OnDisconnect(func(_ netcode.ClientID, reason *netcode.CloseError) {
		ended = fmt.Errorf("the game is over: %w", reason)
	})
	if err := client.ConnectWith(l.Server(), rules.Payload(c.secret, c.name, c.watch)); err != nil {
		return err
	}
	game := screen.New(screen.Config{
		Player: player, Loop: systems.NewRunner(&world, group, rules.TickRate), Line: l, By: by, Note: c.note, Auto: c.auto, F1: c.f1, Seed: uint64(len(c.name)),
		Panel: c.panel, Shots: c.shots,
		Ended: func() error {
			if ended != nil {
				return ended
			}
			return l.Err()
		},
	})
	return screen.Run(game, "Brawl by "+by)
}
