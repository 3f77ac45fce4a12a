//go:build js && wasm

package web

import (
	"context"
	"errors"
	"syscall/js"

	"github.com/arche-netcode/netcode/transport"
)

// errEnded means that the server ended the connection.
var errEnded = errors.New("web: the connection has ended")

// errMissing means that the browser has no WebTransport.
var errMissing = errors.New("web: the browser has no WebTransport, or the page is no secure context")

// session is a WebTransport session of the browser as a queued.Pipe.
type session struct {
	wt, datagrams, reader, writer js.Value
	ctx                           context.Context
	cancel                        context.CancelFunc
}

// openSession opens a session and waits until it is ready.
func openSession(ctx context.Context, url string, hashes [][]byte) (*session, error) {
	constructor := js.Global().Get("WebTransport")
	if constructor.IsUndefined() {
		return nil, errMissing
	}
	options := js.Global().Get("Object").New()
	if len(hashes) > 0 {
		list := js.Global().Get("Array").New()
		for _, hash := range hashes {
			list.Call("push", map[string]any{"algorithm": "sha-256", "value": toJS(hash)})
		}
		options.Set("serverCertificateHashes", list)
	}
	wt, err := construct(constructor, url, options)
	if err != nil {
		return nil, err
	}
	ignore(wt.Get("closed")) // An unhandled rejection would be an error on the page's console.
	if _, err := await(ctx, wt.Get("ready")); err != nil {
		wt.Call("close")
		return nil, err
	}
	s := &session{wt: wt, datagrams: wt.Get("datagrams")}
	s.reader = s.datagrams.Get("readable").Call("getReader")
	writable := s.datagrams.Get("writable")
	if writable.IsUndefined() { // newer drafts
		writable = s.datagrams.Call("createWritable")
	}
	s.writer = writable.Call("getWriter")
	ignore(s.writer.Get("closed"))
	ignore(s.reader.Get("closed"))
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// construct calls a JavaScript constructor. An exception, such as for an invalid URL, becomes an error.
func construct(constructor js.Value, args ...any) (made js.Value, err error) {
	defer func() {
		if thrown, ok := recover().(js.Error); ok {
			err = thrown
		}
	}()
	return constructor.New(args...), nil
}

// ignore handles the rejection of a promise by doing nothing.
func ignore(promise js.Value) {
	promise.Call("catch", js.Global().Get("Function").New())
}

// Write implements queued.Pipe. It waits while the browser's queue is full.
func (s *session) Write(datagram []byte) error {
	if len(datagram) > s.datagrams.Get("maxDatagramSize").Int() {
		return transport.ErrTooLarge
	}
	_, err := await(s.ctx, s.writer.Call("write", toJS(datagram)))
	return err
}

// Read implements queued.Pipe.
func (s *session) Read(buf []byte) (int, error) {
	result, err := await(s.ctx, s.reader.Call("read"))
	switch {
	case err != nil:
		return 0, err
	case result.Get("done").Bool():
		return 0, errEnded
	}
	n := toGo(buf, result.Get("value"))
	if n > len(buf) {
		return 0, transport.ErrTooLarge
	}
	return n, nil
}

// Close implements queued.Pipe.
func (s *session) Close() error {
	s.cancel()
	s.wt.Call("close")
	return nil
}
