//go:build unix

package main

import (
	"os"
	"syscall"
)

func stopSignal() os.Signal { return syscall.SIGSTOP }
func goOnSignal() os.Signal { return syscall.SIGCONT }
