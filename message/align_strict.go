//go:build !(386 || amd64 || arm64 || loong64 || ppc64le || wasm)

package message

// anyAlignment is false: this machine needs aligned numbers, so values are copied byte by byte.
const anyAlignment = false
