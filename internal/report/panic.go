package report

import (
	"path"
	"runtime"
	"strconv"
	"strings"
)

// deepestPanic is the maximum number of stack frames that PanickedAt reads.
const deepestPanic = 64

// PanickedAt returns the place of the newest panic on the stack as "folder/file.go:line", empty if it is not found. It skips
// frames of the runtime, such as those of a nil dereference.
func PanickedAt() string {
	var callers [deepestPanic]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers[:])])
	panicking := false
	for {
		frame, more := frames.Next()
		switch {
		case frame.Function == "runtime.gopanic":
			panicking = true
		case panicking && !strings.HasPrefix(frame.Function, "runtime."):
			return path.Join(path.Base(path.Dir(frame.File)), path.Base(frame.File)) + ":" + strconv.Itoa(frame.Line)
		}
		if !more {
			return ""
		}
	}
}
