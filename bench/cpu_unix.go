//go:build unix

package main

import "syscall"

// cpuTime is the time that this process has used of all cores, the kernel's work for it included, in ns.
func cpuTime() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return float64(usage.Utime.Nano() + usage.Stime.Nano())
}
