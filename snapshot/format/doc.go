// Package format is what both ends of a snapshot share: the rows of a protocol, the prefix codes of a payload, and its limits.
//
// Package snapshot writes payloads, package replica reads them; neither imports the other.
//
//   - row: one component of one entity, as its quantised lanes; a lane is 32 bits
//   - [Schema]: the components of a protocol, in its order; [Mask] is a set of its rows
//   - [Banded], [Band]: a component that clients far away get in coarser steps, as another row
//   - form: a component with the fields of an older build, as another row
//   - [Codes]: the prefix codes of the schema
//   - page: [PageEntities] entities with neighbouring indexes
//   - nibble: a symbol that tells which of the next [NibbleSize] entities of a page have a record
//   - gap: the distance from the index of an unlisted record to the next one
//
// # Files
//
//   - schema.go: the components of a protocol as rows, with their options
//   - bands.go: distance bands, and forms of older builds, as rows of their own
//   - mask.go, mask_64.go, mask_256.go: sets of rows; the most rows of a build
//   - mask_bits.go: the bits of a set of rows in a record
//   - pages.go: pages and nibbles
//   - codes.go: prefix codes of deltas, nibbles and gaps
//   - config.go: limits of both ends
//   - bits.go: [Bits], a payload's bits by purpose, row ([ComponentBits]) and field ([FieldBits])
package format
