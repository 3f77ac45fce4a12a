//go:build !linux

package main

import "net"

// segmentControl is nil: this kernel takes one packet per call.
func segmentControl(uint16) []byte { return nil }

// coalesce does nothing here.
func coalesce(*net.UDPConn) error { return nil }
