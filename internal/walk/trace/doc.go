// Package trace records which functions are entered, in order. Command walk puts the calls into a copy of the module.
package trace
