// Package calls stores the questions of one end that wait for their answers.
package calls
