// Package csharp tests the thin client in C# of this folder: its tests start Mono.
package csharp
