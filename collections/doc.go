// Package collections keeps lists, sets and maps that belong to entities and are too large, or change in too small parts, to
// be components. They travel beside snapshots: as operations on single elements, in order and reliably, and whole to whoever
// has just come to see the entity.
//
// An [Origin] is what the end that writes has: the contents, and in its journal what was done to them since the last flush.
// A [Reader] is what one client lacks of it. A [Copy] is what a client has. None of them knows of connections: a [Link] says
// what a client sees and takes what is for it.
//
// # Words
//
// Sets and maps are lists that are ordered by their keys, so that they travel in the same few operations, and nobody ever
// sees the order of a Go map. A key is compared by its words as they travel (quantize.Plan), the first one first.
//
// The prefix of a reader is how many of the first elements it was sent: it has these and nothing else, and what is done
// beyond them it gets when its prefix comes there. So contents that are large and change all the time can be sent in
// pieces, without a copy and without beginning anew. A reader is in step when its prefix is all there is.
package collections
