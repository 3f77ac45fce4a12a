package transfer

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
)

// Config has the limits of transfers. Zero fields mean the defaults.
type Config struct {
	// FromServer and FromClient are the maximum size in bytes of a transfer from the server and from a client. The defaults are
	// 16 MiB and 0: clients may send none. The memory of a transfer grows with its received bytes.
	FromServer, FromClient int
	AtOnce                 int // Maximum number of running transfers from one sender to one receiver; default 4. Others wait at the sender.
}

// Errors of transfers. Another one is *RefusedError.
var (
	ErrCancelled    = errors.New("netcode: transfer: it was cancelled")
	ErrDisconnected = errors.New("netcode: transfer: the connection ended first")
	ErrUnregistered = errors.New("netcode: transfer: the protocol has no transfers: call transfer.Register on both sides")
	ErrNoReceiver   = fmt.Errorf("netcode: transfer: nobody is connected there: %w", errs.ErrNotConnected) // It wraps errs.ErrNotConnected.
)

// RefusedError means that the receiver refused or cancelled a transfer.
type RefusedError struct {
	Text string // The receiver's reason.
}

// Error implements error.
func (e *RefusedError) Error() string { return "netcode: transfer: the receiver refused it: " + e.Text }

// SizeError means that a transfer exceeds the receiver's limit.
type SizeError struct {
	Size int // Bytes of the transfer.
	Max  int // The limit in bytes.
}

// Error implements error.
func (e *SizeError) Error() string {
	if e.Max == 0 {
		return "netcode: transfer: the receiver takes none: raise FromServer or FromClient of transfer.Config on both sides"
	}
	return fmt.Sprintf("netcode: transfer: %d bytes are more than the %d that the receiver takes: raise FromServer or FromClient of transfer.Config on both sides", e.Size, e.Max)
}

// Handler handles received transfers. A nil function does nothing; a nil Begin accepts.
type Handler struct {
	Begin  func(r *Receiving) error              // A transfer begins. An error refuses it, and its text is sent to the sender.
	Done   func(r *Receiving, data []byte)       // The transfer is complete. data belongs to the game.
	Failed func(r *Receiving, err error)         // The transfer failed: ErrCancelled or ErrDisconnected.
	Moved  func(r *Receiving, received, all int) // More bytes were received.
}

// feature is the registered feature of a protocol.
type feature struct{ config Config }

// Register adds transfers to a protocol. Call it on both sides with the same Config, before the first server or client of the
// protocol. It panics on a second call and on a frozen protocol.
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
	extend.OfProtocol(p).Extend(extend.Extension{Name: "transfer", State: f, Server: f, Client: f})
	handle(p)
}

// On sets the handler of received transfers at a server or client. Its functions are called in the frame of that end. Without a
// handler all transfers are refused. It panics without Register.
func On(e netcode.Endpoint, h Handler) {
	of, ok := extend.ExtensionOf[*end](e)
	if !ok {
		panic(ErrUnregistered.Error())
	}
	of.handler = &h
}

// Send begins to send data to a client, or from a client to the server with to = 0. name, of at most 64 bytes, describes the data
// to the receiver. data must not change until the transfer is over. The errors are ErrUnregistered, ErrNoReceiver and *SizeError.
func Send(from netcode.Endpoint, to netcode.ClientID, name string, data []byte) (*Sending, error) {
	e, ok := extend.ExtensionOf[*end](from)
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

// cut returns the longest prefix of at most n bytes with whole characters. Invalid UTF-8 becomes U+FFFD.
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
