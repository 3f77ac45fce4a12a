//go:build js && wasm

package web

import (
	"context"
	"syscall/js"
	"time"

	"github.com/arche-netcode/netcode/transport"
)

const (
	// mostBuffered is the number of bytes in the browser's send buffer from which a WebSocket counts as blocked.
	mostBuffered = 4096
	// bufferedPause is the polling interval for that buffer: browsers have no event for it.
	bufferedPause = 4 * time.Millisecond
	// mostArrived is the maximum number of messages that wait for Read.
	mostArrived = 256
)

// socket is a WebSocket of the browser as a queued.Pipe.
type socket struct {
	ws      js.Value
	arrived chan js.Value // ArrayBuffers.
	opened  chan struct{}
	ctx     context.Context
	cancel  context.CancelFunc
	funcs   []js.Func
}

// openSocket opens a WebSocket and waits until it is open.
func openSocket(ctx context.Context, url string) (*socket, error) {
	ws, err := construct(js.Global().Get("WebSocket"), url)
	if err != nil {
		return nil, err
	}
	ws.Set("binaryType", "arraybuffer")
	s := &socket{ws: ws, arrived: make(chan js.Value, mostArrived), opened: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.on("onopen", func(js.Value) { close(s.opened) })
	s.on("onclose", func(js.Value) { s.cancel() })
	s.on("onmessage", func(event js.Value) {
		data := event.Get("data")
		if data.Type() != js.TypeObject { // text is no datagram
			return
		}
		select {
		case s.arrived <- data:
		default: // If the queue is full the datagram is lost, as in a socket.
		}
	})
	select {
	case <-s.opened:
		return s, nil
	case <-s.ctx.Done():
		err = errEnded
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	_ = s.Close()
	return nil, err
}

// on sets an event handler of the WebSocket.
func (s *socket) on(event string, do func(event js.Value)) {
	f := js.FuncOf(func(_ js.Value, args []js.Value) any {
		do(first(args))
		return nil
	})
	s.funcs = append(s.funcs, f)
	s.ws.Set(event, f)
}

// Write implements queued.Pipe. It waits while the browser's send buffer is filled.
func (s *socket) Write(datagram []byte) error {
	for s.ws.Get("bufferedAmount").Int() > mostBuffered {
		select {
		case <-s.ctx.Done():
			return errEnded
		case <-time.After(bufferedPause):
		}
	}
	if s.ctx.Err() != nil {
		return errEnded
	}
	s.ws.Call("send", toJS(datagram)) // It does nothing while the socket closes.
	return nil
}

// Read implements queued.Pipe.
func (s *socket) Read(buf []byte) (int, error) {
	select {
	case data := <-s.arrived:
		n := toGo(buf, js.Global().Get("Uint8Array").New(data))
		if n > len(buf) {
			return 0, transport.ErrTooLarge
		}
		return n, nil
	case <-s.ctx.Done():
		return 0, errEnded
	}
}

// Close implements queued.Pipe.
func (s *socket) Close() error {
	for _, event := range []string{"onopen", "onclose", "onmessage"} {
		s.ws.Set(event, js.Null())
	}
	for _, f := range s.funcs {
		f.Release()
	}
	s.funcs = nil
	s.cancel()
	s.ws.Call("close")
	return nil
}
