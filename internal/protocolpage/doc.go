// Package protocolpage contains the tests of PROTOCOL.md. golden_*_test.go play a session and compare each datagram with
// testdata/session.golden. decode_*_test.go are an independent decoder, written from the page alone and without code of this
// module.
package protocolpage
