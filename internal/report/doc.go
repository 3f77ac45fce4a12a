// Package report passes errors without a caller to OnError and to a rate-limited log. Its files: report.go (Reporter) and
// panic.go (the place of a panic).
package report
