// Package protocolpage holds the tests of PROTOCOL.md: golden_*_test.go play a session and compare each of its datagrams with testdata/session.golden;
// decode_*_test.go are a second reader of the wire, written from the page alone. It uses nothing of this module.
package protocolpage
