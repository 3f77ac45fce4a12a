//go:build unix

package live

import (
	"syscall"
	"time"
)

// processorTime is the time that this process has used of all processors, the kernel's work for it included.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
