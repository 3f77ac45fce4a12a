// Package js tests the JavaScript client of this folder against a server in Go: its tests start Node.
package js
