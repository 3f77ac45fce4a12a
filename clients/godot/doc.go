// Package godot tests the thin client in GDScript of this folder: its tests start Godot 3.
package godot
