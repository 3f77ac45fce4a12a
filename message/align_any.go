//go:build 386 || amd64 || arm64 || loong64 || ppc64le || wasm

package message

// anyAlignment tells that this machine reads and writes numbers at any address. A value can then be copied from its
// place in a packet as a whole.
const anyAlignment = true
