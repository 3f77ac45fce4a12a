// Package errs has the errors of servers and clients: those that calls return, and those that OnError is given.
//
// Compare a variable with errors.Is, and find a type with errors.As.
package errs
