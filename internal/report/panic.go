package report

import (
	"path"
	"runtime"
	"strconv"
	"strings"
)

// deepestPanic is the number of frames of a stack that PanickedAt reads.
const deepestPanic = 64

// PanickedAt returns the place of the newest panic on the stack as "folder/file.go:line", empty where it is not found. The frames of the
// runtime itself, as those of a nil dereference, are passed over.
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
