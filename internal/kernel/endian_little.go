//go:build 386 || amd64 || arm || arm64 || loong64 || mipsle || mips64le || ppc64le || riscv64 || wasm

package kernel

// HostLittle tells that this machine has the byte order of the wire, so that ranges of fields may be copied whole.
// Machines that are not in the list above copy field by field, whatever their order.
const HostLittle = true
