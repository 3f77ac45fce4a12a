// Package rowtest has the components that the tests of quantize and delta share, rows of random lanes, and a reader of golden
// vectors.
package rowtest
