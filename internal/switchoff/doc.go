// Package switchoff verifies the tests of the rules: it switches each rule off in the source and checks that the test named for
// it fails. It contains tests only.
package switchoff
