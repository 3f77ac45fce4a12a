// Package events keeps what happened to connections until it is safe to tell the game.
package events
