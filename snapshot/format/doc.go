// Package format is what both ends of a snapshot share: the rows of a protocol, the prefix codes of a payload, and its limits.
//
// Package snapshot writes payloads, package replica reads them; neither imports the other.
//
//   - row: one component of one entity, as its quantised lanes; a lane is 32 bits
//   - [Schema]: the components of a protocol, in its order; [Mask] is a set of its rows
//   - [Banded], [Band]: a component that clients far away get in coarser steps, as another row
//   - form: a component with the fields of an older build, as another row
//   - [Codes]: the prefix codes of the schema
//   - page: [PageEntities] entities, neighbours by index
//   - nibble: the symbol that tells of which of the next [NibbleSize] entities of a page a payload has records
//
// # Files
//
//   - schema.go: the components of a protocol as rows, with their options
//   - bands.go: distance bands, and forms of older builds, as rows of their own
//   - mask.go, mask_64.go, mask_256.go: sets of rows; the most rows of a build
//   - mask_bits.go: a set of rows in bits
//   - pages.go: pages, and the symbols for entities of them
//   - codes.go: prefix codes
//   - config.go: limits
package format
