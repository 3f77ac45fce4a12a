// Package python tests the thin client in Python of this folder: its tests start Python.
package python
