package schema

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/canon"
)

// ErrFormat means that Protocol.WriteSchema did not write the file, or that it was changed since.
var ErrFormat = errors.New("schema: this is no lock file")

// Lock is the contents of a lock file.
type Lock struct {
	Hash     uint64   // Protocol.Hash
	Supports []uint64 // hashes of supported older builds
	Entries  []Entry  // in order of the protocol, limits first
}

// Entry is one entry of the canonical description of a protocol.
type Entry struct {
	Kind, Name string   // "component", "Position"; they identify the entry
	Fields     []string // "X:f32", in order
	Behind     string   // suffix: how it is sent, such as "[owner]" or "[both ways;Unreliable 0]"
	Options    []string // settings that only the server needs, such as "every 3"
}

// Text returns the entry as a line of Protocol.Description.
func (e *Entry) Text() string {
	return e.Kind + " " + e.Name + "{" + strings.Join(e.Fields, ";") + "}" + e.Behind
}

// String returns kind and name.
func (e *Entry) String() string { return e.Kind + " " + e.Name }

// Of returns the lock of a protocol. It freezes the protocol.
func Of(p *netcode.Protocol) *Lock {
	var b bytes.Buffer
	_ = p.WriteSchema(&b) // Writing to a buffer never fails.
	lock, err := Read(&b)
	if err != nil {
		panic(fmt.Sprintf("schema: an extension described itself in another form than kind name{...}: %v", err))
	}
	return lock
}

// Support makes a protocol compatible with older builds. locks are the contents of their lock files, for example from go:embed.
// Only the newer build calls it. See Protocol.Support for the differences that it allows. It panics on a text that is no lock
// file.
func Support(p *netcode.Protocol, locks ...string) {
	for _, text := range locks {
		lock, err := Read(strings.NewReader(text))
		if err != nil {
			panic(fmt.Sprintf("netcode: schema.Support: %v", err))
		}
		p.Support(lock.description())
	}
}

// Read parses the output of Protocol.WriteSchema. It skips empty lines and lines that begin with #. The errors are those of r, and
// ErrFormat with the line number. If the hash does not match the entries, the file was edited or merged, and the error is
// ErrFormat.
func Read(r io.Reader) (*Lock, error) {
	l, open := &Lock{}, false
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n, begun := 1, false; lines.Scan(); n++ {
		line := strings.TrimSuffix(lines.Text(), "\r")
		switch {
		case line == "" || line[0] == '#':
			continue
		case !begun:
			hash, found := strings.CutPrefix(line, "schema 1 ")
			number, err := strconv.ParseUint(hash, 16, 64)
			if !found || err != nil {
				return nil, fmt.Errorf("%w: line %d is %q, and not schema 1 with a hash: Protocol.WriteSchema writes such a file", ErrFormat, n, line)
			}
			l.Hash, begun = number, true
			continue
		}
		var ok bool
		if open, ok = l.take(line, open); !ok {
			return nil, fmt.Errorf("%w: line %d, %q, has no place there", ErrFormat, n, line)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if open || l.hash() != l.Hash {
		return nil, fmt.Errorf("%w as it was written: its hash does not fit its entries: write it anew, do not edit or merge it", ErrFormat)
	}
	return l, nil
}

// take parses a line. open means that the fields of the last entry continue.
func (l *Lock) take(line string, open bool) (stillOpen, ok bool) {
	head, isHead := strings.CutSuffix(line, " {")
	supports, isSupport := strings.CutPrefix(line, "supports ")
	option, isOption := strings.CutPrefix(line, "option ")
	switch {
	case isSupport && len(l.Entries) == 0:
		hash, err := strconv.ParseUint(supports, 16, 64)
		l.Supports = append(l.Supports, hash)
		return false, err == nil
	case open && line[0] == '\t':
		e := &l.Entries[len(l.Entries)-1]
		e.Fields = append(e.Fields, line[1:])
		return true, true
	case open && line[0] == '}':
		l.Entries[len(l.Entries)-1].Behind = line[1:]
		return false, true
	case !open && isOption && len(l.Entries) > 0:
		e := &l.Entries[len(l.Entries)-1]
		e.Options = append(e.Options, option)
		return false, true
	case !open && isHead:
		kind, rest, _ := strings.Cut(head, " ")
		number := strings.LastIndex(rest, " #") // Names contain spaces, such as "section used inputs".
		if number < 0 || rest[number+1:] != fmt.Sprintf("#%08x", canon.ID(kind, rest[:number])) {
			return false, false
		}
		l.Entries = append(l.Entries, Entry{Kind: kind, Name: rest[:number]})
		return true, true
	}
	return open, false
}

// description returns the entries as Protocol.Description does.
func (l *Lock) description() (entries []string) {
	for i := range l.Entries {
		entries = append(entries, l.Entries[i].Text())
	}
	return entries
}

// hash returns the hash of the entries.
func (l *Lock) hash() uint64 {
	var entries []canon.Entry
	for _, text := range l.description() {
		entries = append(entries, canon.Entry{Text: text})
	}
	return canon.New(entries).Hash
}

// find returns the entry with a kind and name, nil if there is none.
func (l *Lock) find(kind, name string) *Entry {
	for i := range l.Entries {
		if e := &l.Entries[i]; e.Kind == kind && e.Name == name {
			return e
		}
	}
	return nil
}
