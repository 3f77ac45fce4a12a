package main

import (
	"bytes"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/arche-netcode/netcode/internal/canon"
	"github.com/arche-netcode/netcode/internal/usage"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/udp"
)

const (
	discoverEvery   = 100 * time.Millisecond // between two Hellos
	discoverSilence = 5 * time.Second        // after which there is no server
	discoverMost    = 700                    // entries
)

// runDiscover prints a server's protocol as a lock file.
func runDiscover(args []string, out, progress io.Writer) error {
	if len(args) != 1 && (len(args) != 3 || args[1] != "-o") {
		return usage.Errorf("discover wants an address, as in netcode discover 127.0.0.1:9000 -o game.lock")
	}
	server, err := transport.ParseAddr(args[0])
	if err != nil {
		return err
	}
	socket, err := udp.Listen(":0", udp.Config{})
	if err != nil {
		return err
	}
	defer func() { _ = socket.Close() }()
	d := discovery{socket: socket, server: server, progress: progress}
	found, err := d.entries()
	if err != nil {
		return err
	}
	var lock bytes.Buffer
	if err := found.WriteLock(&lock, nil, nil); err != nil {
		return err
	}
	if len(args) == 3 {
		return os.WriteFile(args[2], lock.Bytes(), 0o644) //nolint:gosec // a lock file is public
	}
	_, err = out.Write(lock.Bytes())
	return err
}

// discovery asks a server for its protocol: a refusal of a Hello with another one tells the first entry that differs (PROTOCOL.md, section 12).
type discovery struct {
	socket   transport.Conn
	server   transport.Addr
	progress io.Writer
	cookie   peer.Cookie
}

// entries asks until no entry differs.
func (d *discovery) entries() (canon.Description, error) {
	found := canon.New(nil)
	for {
		detail, err := d.ask(&found)
		if err != nil || detail == "" {
			return found, err
		}
		number, text, more := strings.Cut(detail, " ")
		place, err := strconv.Atoi(number)
		switch {
		case err != nil || place < 0 || place > len(found.Entries) || place > discoverMost:
			return found, fmt.Errorf("netcode: the server's refusal names no entry: %s", detail)
		case place >= peer.MaxDigest:
			return found, fmt.Errorf("netcode: a handshake tells %d entries, and the server has more: take its lock file", peer.MaxDigest)
		case len(detail) >= peer.MaxRefuseDetail:
			return found, fmt.Errorf("netcode: entry %d is too long for a refusal: take the server's lock file", place)
		}
		entries := found.Entries[:place]
		if more {
			kind, name := canon.NameOf(text)
			entries = append(entries, canon.Entry{Kind: kind, Name: name, Text: text})
			fmt.Fprintf(d.progress, "\r%d entries: %s %s\x1b[K", len(entries), kind, name)
		}
		found = canon.New(entries)
	}
}

// ask sends Hellos with a protocol until the server accepts it, "", or refuses it.
func (d *discovery) ask(p *canon.Description) (detail string, err error) {
	var random [8]byte
	_, _ = crand.Read(random[:])
	hello := peer.Hello{Version: peer.Version, Nonce: binary.LittleEndian.Uint64(random[:]), Protocol: p.Hash, Digest: p.Digest, Cookie: d.cookie}
	buf := make([]byte, peer.HelloSize)
	var next time.Time
	for begin := time.Now(); time.Since(begin) < discoverSilence; time.Sleep(time.Millisecond) {
		if now := time.Now(); now.After(next) {
			next = now.Add(discoverEvery)
			if err := d.socket.Send(d.server, peer.AppendHello(nil, hello)); err != nil {
				return "", err
			}
		}
		n, from, err := d.socket.Receive(buf)
		if err != nil {
			return "", err
		}
		if n == 0 || from != d.server {
			continue
		}
		if c, err := peer.ParseChallenge(buf[:n]); err == nil && c.Nonce == hello.Nonce && c.Cookie != hello.Cookie {
			hello.Cookie, d.cookie, next = c.Cookie, c.Cookie, time.Time{}
		}
		if a, err := peer.ParseAccept(buf[:n]); err == nil && a.Nonce == hello.Nonce {
			return "", nil
		}
		if r, err := peer.ParseRefuse(buf[:n]); err == nil && r.Nonce == hello.Nonce {
			if r.Reason != peer.ReasonWrongProtocol {
				return "", fmt.Errorf("netcode: the server answers: %v %s", r.Reason, r.Detail)
			}
			return r.Detail, nil
		}
	}
	return "", errors.New("netcode: no answer within 5 s: is a server of netcode there, over UDP without transport/secure?")
}
