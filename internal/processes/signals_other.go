//go:build !unix

package main

import "os"

// Other systems cannot suspend a process: it is killed, and the case fails.
func stopSignal() os.Signal { return os.Kill }
func goOnSignal() os.Signal { return os.Kill }
