// Package resume tells a client how much was lost when its match went on elsewhere from a checkpoint. It imports nothing of NATS, so that clients
// stay small. Both ends call [Register]; fleet/nats calls [From] when it restores a match.
package resume
