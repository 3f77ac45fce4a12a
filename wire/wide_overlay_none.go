//go:build !amd64 || purego

package wire

// No rows are written several at a time here.

func overlayWide3(live, kept *byte, lanes *uint32, step, n uintptr) uintptr { return 0 }

func overlayWide4(live, kept *byte, lanes *uint32, step, n uintptr) uintptr { return 0 }

func mixedWide3(live, kept *byte, lanes *uint32, step, n uintptr, order *int32, last uint32) uintptr {
	return 0
}

func mixedWide4(live, kept *byte, lanes *uint32, step, n uintptr, order *int32, last uint32) uintptr {
	return 0
}
