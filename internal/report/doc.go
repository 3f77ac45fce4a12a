// Package report passes errors that have no caller to OnError and to a log of few lines a second.
package report
