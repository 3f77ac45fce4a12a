//go:build !linux || (!amd64 && !arm64)

package udp

func volleys(*Conn) bool { return false }

func switchOff(*Conn, bool) {}
