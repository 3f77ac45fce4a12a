// Package casebook writes docs/reliability.md: each case of the catalogue of faults and attacks, its tests, and how often they injected it.
//
// A test of a case is named TestCaseNN and calls Injected once for each kind of fault. The command cmd/casebook runs all of them
// and writes the page; the test of this package compares the page with the tests in the tree.
package casebook
