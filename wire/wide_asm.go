//go:build amd64 && !purego

package wire

// wide reports whether the processor has AVX2, FMA, BMI1, BMI2 and POPCNT, as all for servers have since 2013 and 2017. It takes a microsecond in a virtual machine: what
// depends on it is chosen when a protocol is compiled, not each tick.
func wide() bool
