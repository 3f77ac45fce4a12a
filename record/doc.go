// Package record learns from games that were played: it makes the tables of prefix codes by which a game's own state
// travels in the fewest bits.
package record
