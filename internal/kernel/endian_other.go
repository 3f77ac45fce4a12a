//go:build !(386 || amd64 || arm || arm64 || loong64 || mipsle || mips64le || ppc64le || riscv64 || wasm)

package kernel

// HostLittle is false: see endian_little.go.
const HostLittle = false
