// Package casebook writes docs/reliability.md: a table of the cases of the catalogue of faults and attacks, with their tests and
// the number of injected faults.
//
// A test of a case is named TestCaseNN and calls Injected once for each kind of fault. Command cmd/casebook runs all
// of them and writes the page. The test of this package checks that the page lists every such test and has no empty cell.
//
// Its files: casebook.go (Injected), cases.go (the catalogue), page.go (the page).
package casebook
