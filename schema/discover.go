package schema

import (
	"bytes"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/canon"
	"github.com/arche-netcode/netcode/internal/peer"
)

const (
	discoverEvery   = 100 * time.Millisecond // between two Hellos
	discoverSilence = 5 * time.Second        // after which there is no server
)

// Line sends datagrams to a server and receives its answers.
type Line interface {
	// Send sends a datagram to the server.
	Send(datagram []byte) error
	// Receive copies the next answer into buf. It does not block: 0 bytes mean that there is none.
	Receive(buf []byte) (n int, err error)
}

// Discover asks a server for its protocol, an entry in each round trip: the refusal of a Hello with another protocol tells the first entry
// that differs (PROTOCOL.md, section 12). The lock lacks what only a server needs, options and older builds. progress, unless it is nil, is
// called with each entry. Discover blocks until the lock is complete, or the server says nothing for five seconds, which is an error. A
// server behind transport/secure does not answer. Entries above some 470 bytes, and more of them than fit a Hello (117), are errors.
func Discover(line Line, progress func(entries int, entry string)) (*Lock, error) {
	d := discovery{line: line, progress: progress}
	found, err := d.entries()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := found.WriteLock(&b, nil, nil); err != nil {
		return nil, err
	}
	return Read(&b)
}

// Write writes the lock as a lock file, without options and older builds.
func (l *Lock) Write(w io.Writer) error {
	var entries []canon.Entry
	for i := range l.Entries {
		e := &l.Entries[i]
		entries = append(entries, canon.Entry{Kind: e.Kind, Name: e.Name, Text: e.Text()})
	}
	found := canon.New(entries)
	return found.WriteLock(w, nil, nil)
}

// discovery is the state of Discover.
type discovery struct {
	line     Line
	progress func(entries int, entry string)
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
		case err != nil || place < 0 || place > len(found.Entries):
			return found, fmt.Errorf("schema: the server's refusal names no entry: %s", detail)
		case place >= peer.MaxDigest:
			return found, fmt.Errorf("schema: a handshake tells %d entries, and the server has more: take its lock file", peer.MaxDigest)
		case len(detail) >= peer.MaxRefuseDetail:
			return found, fmt.Errorf("schema: entry %d is too long for a refusal: take the server's lock file", place)
		}
		entries := found.Entries[:place]
		if more {
			kind, name := canon.NameOf(text)
			entries = append(entries, canon.Entry{Kind: kind, Name: name, Text: text})
			if d.progress != nil {
				d.progress(len(entries), kind+" "+name)
			}
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
			if err := d.line.Send(peer.AppendHello(nil, hello)); err != nil {
				return "", err
			}
		}
		n, err := d.line.Receive(buf)
		if err != nil {
			return "", err
		}
		if n == 0 {
			continue
		}
		if c, err := peer.ParseChallenge(buf[:n]); err == nil && c.Nonce == hello.Nonce && c.Cookie != hello.Cookie {
			hello.Cookie, d.cookie, next = c.Cookie, c.Cookie, time.Time{}
		}
		if a, err := peer.ParseAccept(buf[:n]); err == nil && a.Nonce == hello.Nonce {
			return "", nil
		}
		if r, err := peer.ParseRefuse(buf[:n]); err == nil && r.Nonce == hello.Nonce {
			if r.Reason != errs.ReasonWrongProtocol {
				return "", fmt.Errorf("schema: the server answers: %v %s", r.Reason, r.Detail)
			}
			return r.Detail, nil
		}
	}
	return "", errors.New("schema: no answer within 5 s: is a server of netcode there, over UDP without transport/secure?")
}
