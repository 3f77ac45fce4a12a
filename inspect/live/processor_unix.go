//go:build unix

package live

import (
	"syscall"
	"time"
)

// processorTime returns the time that this process has used on all processors, in user and kernel mode.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
