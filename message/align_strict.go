//go:build !(386 || amd64 || arm64 || loong64 || ppc64le || wasm)

package message

// anyAlignment tells that this machine reads and writes numbers at any address; this one goes byte by byte.
const anyAlignment = false
