//go:build 386 || amd64 || arm64 || loong64 || ppc64le || wasm

package message

// anyAlignment tells that this machine reads and writes numbers at any address, so that a value may be copied as what it is
// from where it lies in a packet.
const anyAlignment = true
