//go:build amd64 && !purego

package wire

// overlayWide3 and overlayWide4 are Overlay for rows of three and of four words, of which n are asked for, a multiple of eight that is not 0. The lanes of
// the next row are step bytes on. They read and write nothing but those rows.
//
//go:noescape
func overlayWide3(live, kept *byte, lanes *uint32, step, n uintptr) uintptr

//go:noescape
func overlayWide4(live, kept *byte, lanes *uint32, step, n uintptr) uintptr

// mixedWide3 and mixedWide4 are the same for rows whose lanes are step times a number of order from the first on. They end before
// a number that is above last.
//
//go:noescape
func mixedWide3(live, kept *byte, lanes *uint32, step, n uintptr, order *int32, last uint32) uintptr

//go:noescape
func mixedWide4(live, kept *byte, lanes *uint32, step, n uintptr, order *int32, last uint32) uintptr
