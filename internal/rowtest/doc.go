// Package rowtest has components and random rows that the tests of quantize and delta share, and a reader of golden vectors. Its
// files: rowtest.go (components, Draw), fuzz.go (Fuzz), vectors.go (golden vectors).
package rowtest
