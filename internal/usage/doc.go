// Package usage parses the flags of a program. An error names in one line the wrong flag and its valid values. Its files:
// usage.go (Parse, Takes, Status) and list.go (values of flags).
package usage
