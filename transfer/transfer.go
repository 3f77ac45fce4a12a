package transfer

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/arche-netcode/netcode"
)

// Config has the bounds of transfers. Zero fields mean the defaults.
type Config struct {
	// FromServer and FromClient are the largest transfers that a client, and the server, takes, in bytes. The default of FromServer is
	// 16 MiB; that of FromClient is 0: none. The memory of a transfer grows with what has come.
	FromServer, FromClient int
	AtOnce                 int // Transfers that one sender may have under way to a receiver; default 4. Others wait at the sender.
}

// The errors of transfers, beside a *RefusedError.
var (
	ErrCancelled    = errors.New("netcode: transfer: it was cancelled")
	ErrDisconnected = errors.New("netcode: transfer: the connection ended first")
	ErrUnregistered = errors.New("netcode: transfer: the protocol has no transfers: call transfer.Register on both sides")
	ErrNoReceiver   = fmt.Errorf("netcode: transfer: nobody is connected there: %w", netcode.ErrNotConnected) // It wraps netcode.ErrNotConnected.
)

// RefusedError says that the receiver does not take a transfer, or not any more.
type RefusedError struct {
	Text string // The receiver's reason.
}

// Error implements error.
func (e *RefusedError) Error() string { return "netcode: transfer: the receiver refused it: " + e.Text }

// SizeError says that a transfer is larger than what its receiver takes.
type SizeError struct {
	Size int // Bytes of the transfer.
	Max  int // Bytes that the receiver takes.
}

// Error implements error.
func (e *SizeError) Error() string {
	if e.Max == 0 {
		return "netcode: transfer: the receiver takes none: raise FromServer or FromClient of transfer.Config on both sides"
	}
	return fmt.Sprintf("netcode: transfer: %d bytes are more than the %d that the receiver takes: raise FromServer or FromClient of transfer.Config on both sides", e.Size, e.Max)
}

// Handler takes the transfers that come to an end. A function that is nil does nothing.
type Handler struct {
	Begin  func(r *Receiving) error              // A transfer begins. An error refuses it: its text travels to the sender.
	Done   func(r *Receiving, data []byte)       // All of it is here. data is the game's from now on.
	Failed func(r *Receiving, err error)         // It ended before: ErrCancelled or ErrDisconnected.
	Moved  func(r *Receiving, received, all int) // More of it came, in bytes.
}

// feature is the feature in a protocol.
type feature struct{ config Config }

// Register adds transfers to a protocol. Call it on both sides, before the first server or client of the protocol, with the same bounds.
// It panics on a second call and on a frozen protocol.
func Register(p *netcode.Protocol, config ...Config) {
	f := &feature{}
	if len(config) > 0 {
		f.config = config[0]
	}
	if f.config.FromServer == 0 {
		f.config.FromServer = 16 << 20
	}
	if f.config.AtOnce <= 0 {
		f.config.AtOnce = 4
	}
	p.Extend(netcode.Extension{Name: "transfer", State: f, Server: f, Client: f})
	handle(p)
}

// On sets the handler of an end, a server or a client, for the transfers that come to it. Its functions run in the end's frame. Without
// one all transfers are refused. It panics without Register.
func On(e netcode.Endpoint, h Handler) {
	of, ok := netcode.ExtensionOf[*end](e)
	if !ok {
		panic(ErrUnregistered.Error())
	}
	of.handler = &h
}

// Send begins to send data to a client, or from a client to the server: then to is 0. name, of at most 64 bytes, tells the receiver
// what it is. data must not change until the transfer is over. The errors are ErrUnregistered, ErrNoReceiver and *SizeError.
func Send(from netcode.Endpoint, to netcode.ClientID, name string, data []byte) (*Sending, error) {
	e, ok := netcode.ExtensionOf[*end](from)
	if !ok {
		return nil, ErrUnregistered
	}
	if limit := e.limit(true); limit == 0 || len(data) > limit {
		return nil, &SizeError{Size: len(data), Max: limit}
	}
	p := e.peers[to]
	if p == nil {
		return nil, ErrNoReceiver
	}
	s := &Sending{end: e, to: p, name: cut(name, nameLimit), data: data}
	p.sending = append(p.sending, s)
	return s, nil
}

// cut returns the first bytes of a text, at most n: whole characters, and U+FFFD for what is no UTF-8.
func cut(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
