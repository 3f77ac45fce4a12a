//go:build !unix

package main

import "os"

// stopSignal kills: these systems cannot suspend a process, and the case fails.
func stopSignal() os.Signal { return os.Kill }
func goOnSignal() os.Signal { return os.Kill }
