// Package usage reads a program's flags, and says in one line what is wrong with one and what it takes.
package usage
