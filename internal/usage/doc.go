// Package usage reads the flags of a program, and says in one line which one is wrong and which values it takes.
package usage
