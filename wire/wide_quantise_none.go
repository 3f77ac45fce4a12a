//go:build !amd64 || purego

package wire

// fixedRunRows does nothing: plain code goes on where it stopped.
func fixedRunRows(*fixedRun, *byte, int, *int32, int, *uint32, int) (done int) { return 0 }

// quatFours does nothing either.
func quatFours(*quatNumbers, *byte, int, *int32, int, *uint32, int) (done int) { return 0 }
