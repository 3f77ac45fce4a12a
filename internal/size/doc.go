// Package size holds docs/size.md to the lines that the module has: size_test.go counts them.
package size
