//go:build !linux && !darwin && !freebsd

package udp

const controlSize = 1

// nextControl reads no control data: these systems give none.
func nextControl([]byte) (level, kind int, data, rest []byte, ok bool) { return 0, 0, nil, nil, false }
