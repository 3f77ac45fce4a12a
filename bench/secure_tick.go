package main

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/arche-netcode/netcode/transport/secure"
	"github.com/arche-netcode/netcode/transport/udp"
)

// secureTickTarget is the processor time of a tick over secure UDP, times that of a plain one.
const secureTickTarget = 1.3

// tickKey is the key of the server of a measurement. Both processes know it.
func tickKey() secure.Key { return secure.Key{2} }

// securedServer is the server's end: the socket itself, or transport/secure around it.
func securedServer(conn *udp.Conn, wrap bool) (socket, error) {
	if !wrap {
		return conn, nil
	}
	return secure.Listen(conn, secure.Config{Key: tickKey(), Admit: secure.Open(), Timeout: time.Hour, Logger: slog.New(slog.DiscardHandler)})
}

// securedClient is a client's end: the socket itself, or transport/secure around it.
func securedClient(conn *udp.Conn, wrap bool) (socket, error) {
	if !wrap {
		return conn, nil
	}
	return secure.Dial(conn, secure.ClientConfig{ServerKey: tickKey().Public(), Ciphers: secure.AESGCM | secure.ChaCha20Poly1305})
}

// measureSecureTick plays the same game over plain and over secure UDP by turns: the processor time of receiving, capturing and sending.
func measureSecureTick(o options) (err error) {
	var runs [2]*tickRun // Plain, secure.
	defer func() {
		for _, r := range runs {
			if r != nil {
				err = errors.Join(err, r.stop())
			}
		}
	}()
	for i := range runs {
		c := combination{entities: 1000, clients: 16, moving: 0.1, secure: i == 1}
		if runs[i], err = newTickRun(c, false); err != nil {
			return err
		}
		if err := runs[i].connect(); err != nil {
			return fmt.Errorf("secure %v: %w", c.secure, err)
		}
		for range warmUp {
			if err := runs[i].turn(false); err != nil {
				return err
			}
		}
	}
	for start := time.Now(); time.Since(start) < 2*o.budget || len(runs[1].ticks) < realTicks; {
		for _, r := range runs {
			for range realTurns {
				if err := r.turn(true); err != nil {
					return err
				}
			}
			if err := r.compare(); err != nil {
				return err
			}
		}
	}
	plain, secured := runs[0], runs[1]
	if err := secured.countAllocations(); err != nil {
		return err
	}
	o.report(result{
		Scenario: "secure.tick", Value: median(secured.used) / 1e6, Unit: "ms/tick",
		Params: map[string]any{
			"entities": 1000, "clients": 16, "moving": 0.1, "anchor": "plain UDP, receiving included", "ticks": len(secured.ticks), "allocs_per_tick": secured.allocations,
			"send_ms": median(secured.workCPU) / 1e6, "plain_send_ms": median(plain.workCPU) / 1e6, "worlds_compared": secured.digests + plain.digests,
		},
	}.against(median(plain.used)/1e6).ratioTarget(secureTickTarget, secured.verified() && plain.verified()))
	return nil
}
