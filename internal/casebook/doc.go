// Package casebook writes docs/reliability.md: each case of the catalogue of faults and attacks, its tests, and how often they injected it.
//
// A test of a case is named TestCaseNN and calls Injected once for each kind of fault. The command internal/casebook/write runs all of them
// and writes the page; the test of this package holds that the page lists every such test and that no cell is empty.
package casebook
