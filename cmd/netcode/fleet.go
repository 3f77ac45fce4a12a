package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/arche-netcode/netcode/fleet/supervisor"
	"github.com/arche-netcode/netcode/internal/usage"
)

// parseFleet parses the command line of fleet.
func parseFleet(args []string, progress io.Writer) (c supervisor.Config, at string, err error) {
	flags := flag.NewFlagSet("fleet", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.IntVar(&c.Servers, "servers", 1, "processes of the game")
	flags.StringVar(&c.Listen, "listen", "127.0.0.1:9000", "UDP `address` of the first server; the others have the ports after it, and one more for a new build")
	flags.StringVar(&c.Public, "public", "", "`host` that players connect to, if it is another than that of -listen")
	flags.StringVar(&at, "http", "127.0.0.1:7070", "`address` for backends: POST /match, GET /servers, GET /metrics, and a page")
	flags.IntVar(&c.Matches, "matches", 64, "matches of one server at a time")
	flags.DurationVar(&c.Drain, "drain", 2*time.Minute, "the longest drain of a server")
	bearer := flags.String("bearer", "", "`file` with the key that backends send; without it only this machine may ask")
	takes := usage.Takes{"servers": "1 to 256", "listen": "an IP and a port", "public": "a host", "http": "a host and a port", "matches": "1 or more", "drain": "a time such as 2m", "bearer": "a file", "": "the game's program and its arguments, after --"}
	if err := usage.Parse(flags, args, takes); err != nil {
		return c, "", err
	}
	switch {
	case c.Servers < 1:
		return c, "", takes.Wrong("servers", c.Servers)
	case c.Matches < 1:
		return c, "", takes.Wrong("matches", c.Matches)
	}
	if c.Command = flags.Args(); len(c.Command) == 0 {
		return c, "", usage.Errorf("fleet wants the game's program, as in netcode fleet -servers 4 -- ./game")
	}
	if *bearer != "" {
		key, err := os.ReadFile(*bearer)
		if err != nil {
			return c, "", err
		}
		if c.Bearer = string(bytes.TrimSpace(key)); c.Bearer == "" {
			return c, "", fmt.Errorf("%s is empty: it must have the key", *bearer)
		}
	}
	return c, at, nil
}

// runFleet runs servers of a game until ctx is done and all have drained.
func runFleet(ctx context.Context, args []string, out, progress io.Writer) error {
	c, at, err := parseFleet(args, progress)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	defer l.Close()
	if c.Bearer == "" && !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		return usage.Errorf("-http %s is open to others: give -bearer, a file with the key that backends send", at)
	}
	c.Out = out
	s, err := supervisor.New(c)
	if err != nil {
		return err
	}
	pages := &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	go func() { _ = pages.Serve(s.Limit(l)) }() // It ends with Close.
	fmt.Fprintf(progress, "the fleet is at http://%s/\n", l.Addr())
	return errors.Join(s.Run(ctx), pages.Close())
}
