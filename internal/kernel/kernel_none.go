//go:build !amd64 || purego || netcode_plain

package kernel

// Wide returns false: there is no assembly, and no function below is called.
func Wide() bool { return false }

const noKernel = "kernel: no assembly here: see Wide"

// FloatTokens panics: see Wide.
func FloatTokens(*Column, int, uint32, float64, float64, int64) bool { panic(noKernel) }

// WriteFloats panics: see Wide.
func WriteFloats(*FloatCodes, *Column, int, *uint64, uint64, uint64) (int, uint64, uint64, int) {
	panic(noKernel)
}

func take(*Column, int, int, *uint32, *RowSlice) int { panic(noKernel) }

func touch(*Column, int, int, *uint32, *RowSlice) { panic(noKernel) }

// Tokens panics: see Wide.
func Tokens(*Batch, *Rows, *Rows, *Rows, *Tops, uint16, uint16) { panic(noKernel) }

// Retrace panics: see Wide.
func Retrace(*Rows, *Rows, *Rows, int, float64, float64, float64) { panic(noKernel) }

// AimQuats panics: see Wide.
func AimQuats(*Batch, *Column, *Quats) { panic(noKernel) }

// QuatParts panics: see Wide.
func QuatParts(*Batch, *Column, *Quats) { panic(noKernel) }

// Expect panics: see Wide.
func Expect(*Expected, *Movement, *uint32, *uint32, int, int) { panic(noKernel) }

// ReadRows panics: see Wide.
func ReadRows(*Bits, *ReadGroup, uint, int, int, *uint32, int) (uint, int) { panic(noKernel) }
