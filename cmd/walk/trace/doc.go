// Package trace records the entered functions in order. Command walk adds the calls to a copy of the module.
package trace
