// Package calls stores the calls of one end that wait for their answers. calls.go contains everything.
package calls
