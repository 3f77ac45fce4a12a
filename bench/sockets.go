package main

import (
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// socket is a connection as the systems need it.
type socket interface {
	Send(to transport.Addr, datagram []byte) error
	Receive(buf []byte) (n int, from transport.Addr, err error)
}

// countedSocket counts what is sent.
type countedSocket struct {
	socket
	sent        int64 // datagrams
	calls       int64 // of Send, and runs of SendAll
	sentBytes   int64
	headers     bool  // count headerBytes too, which takes time
	headerBytes int64 // all that is not a message's payload
}

func (c *countedSocket) Send(to transport.Addr, datagram []byte) error {
	c.sent++
	c.calls++
	c.sentBytes += int64(len(datagram))
	if c.headers {
		c.headerBytes += int64(headersOf(datagram))
	}
	return c.socket.Send(to, datagram)
}

// sendRun counts the datagrams of a run each.
func (c *countedSocket) sendRun(to transport.Addr, datagrams []byte, size int) error {
	c.calls++
	for rest := datagrams; len(rest) > 0; rest = rest[min(size, len(rest)):] {
		datagram := rest[:min(size, len(rest))]
		c.sent++
		c.sentBytes += int64(len(datagram))
		if c.headers {
			c.headerBytes += int64(headersOf(datagram))
		}
	}
	for ; len(datagrams) > 0; datagrams = datagrams[min(size, len(datagrams)):] {
		if err := c.socket.Send(to, datagrams[:min(size, len(datagrams))]); err != nil {
			return err
		}
	}
	return nil
}

// SendAll counts each run as a call: what they share is not the network's.
func (c *countedSocket) SendAll(to []transport.Addr, runs [][]byte, sizes []int) (failed int, err error) {
	all, ok := c.socket.(transport.BatchSender)
	if !ok || c.headers {
		for i := range runs {
			if fault := c.sendRun(to[i], runs[i], sizes[i]); err == nil && fault != nil {
				failed, err = i, fault
			}
		}
		return failed, err
	}
	c.calls += int64(len(runs))
	for i, run := range runs {
		c.sent += int64((len(run) + sizes[i] - 1) / sizes[i])
		c.sentBytes += int64(len(run))
	}
	return all.SendAll(to, runs, sizes)
}

// heldSocket keeps what arrived until a frame asks for it, so that a frame can wait for its datagrams.
type heldSocket struct {
	socket
	read  int64 // datagrams
	held  []heldDatagram
	first int
	fault error
}

type heldDatagram struct {
	from transport.Addr
	data []byte
}

// pump takes everything that waits.
func (h *heldSocket) pump() {
	for {
		if len(h.held) < cap(h.held) {
			h.held = h.held[:len(h.held)+1] // with the memory of an earlier datagram
		} else {
			h.held = append(h.held, heldDatagram{data: make([]byte, 2048)})
		}
		last := &h.held[len(h.held)-1]
		if last.data == nil {
			last.data = make([]byte, 2048)
		}
		n, from, err := h.socket.Receive(last.data[:2048])
		if err != nil {
			h.fault = err
		}
		if n == 0 {
			h.held = h.held[:len(h.held)-1]
			return
		}
		last.from, last.data = from, last.data[:n]
		h.read++
	}
}

func (h *heldSocket) Receive(buf []byte) (n int, from transport.Addr, err error) {
	if h.first == len(h.held) {
		h.held, h.first, err, h.fault = h.held[:0], 0, h.fault, nil
		return 0, transport.Addr{}, err
	}
	next := h.held[h.first]
	h.first++
	return copy(buf, next.data), next.from, nil
}

// headersOf returns the bytes of a datagram that are no message's payload; handshakes have no payload in this sense.
func headersOf(datagram []byte) int {
	_, header, err := wire.ParsePacketHeader(datagram)
	if err != nil || len(datagram) < header+wire.BatchHeaderSize+wire.ChecksumSize {
		return len(datagram)
	}
	messages := datagram[header+wire.BatchHeaderSize : len(datagram)-wire.ChecksumSize]
	payload := 0
	for len(messages) > 0 {
		message, err := wire.ParseMessageHeader(messages)
		if err != nil {
			break
		}
		payload += int(message.Size)
		messages = messages[wire.MessageHeaderSize+int(message.Size):]
	}
	return len(datagram) - payload
}
