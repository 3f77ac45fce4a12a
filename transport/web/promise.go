//go:build js && wasm

package web

import (
	"context"
	"fmt"
	"syscall/js"
)

// await waits for a promise. Never call it from a function that JavaScript calls: it would deadlock.
func await(ctx context.Context, promise js.Value) (js.Value, error) {
	done, failed := make(chan js.Value, 1), make(chan error, 1)
	then := js.FuncOf(func(_ js.Value, args []js.Value) any {
		done <- first(args)
		return nil
	})
	catch := js.FuncOf(func(_ js.Value, args []js.Value) any {
		failed <- fmt.Errorf("web: %s", js.Global().Call("String", first(args)).String())
		return nil
	})
	var finally js.Func
	finally = js.FuncOf(func(js.Value, []js.Value) any { // A promise settles once: no other callback follows.
		then.Release()
		catch.Release()
		finally.Release()
		return nil
	})
	promise.Call("then", then, catch).Call("finally", finally)
	select {
	case value := <-done:
		return value, nil
	case err := <-failed:
		return js.Undefined(), err
	case <-ctx.Done():
		return js.Undefined(), context.Cause(ctx)
	}
}

// first returns the argument of a JavaScript callback, which may be missing.
func first(args []js.Value) js.Value {
	if len(args) == 0 {
		return js.Undefined()
	}
	return args[0]
}

// toGo copies a Uint8Array into buf and returns the length of the array.
func toGo(buf []byte, array js.Value) int {
	n := array.Length()
	if n <= len(buf) {
		js.CopyBytesToGo(buf, array)
	}
	return n
}

// toJS returns the bytes as a Uint8Array.
func toJS(b []byte) js.Value {
	array := js.Global().Get("Uint8Array").New(len(b))
	js.CopyBytesToJS(array, b)
	return array
}
