//go:build !unix

package main

import "os"

// Elsewhere nothing stops a process: it is killed, and the case fails.
func stopSignal() os.Signal { return os.Kill }
func goOnSignal() os.Signal { return os.Kill }
