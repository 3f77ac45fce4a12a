// Package trial is a rule, to try the harness on.
package trial

// Most is the larger of two numbers.
func Most(a, b int) int {
	if a > b {
		return a
	}
	return b
}

// Spare is used by no test that looks at what it returns.
func Spare() int { return 1 }
