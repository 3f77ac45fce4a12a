// Package switchoff proves of each rule that the test which is named for it fails when the rule is switched off. All of it
// is tests.
package switchoff
