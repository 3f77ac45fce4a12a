//go:build !purego && !netcode_plain

#include "textflag.h"

// func Wide() bool
//
// CPUID tells the features of the processor, XGETBV whether the operating system saves the wide registers.
TEXT ·Wide(SB), NOSPLIT, $0-1
	MOVB $0, ret+0(FP)
	XORL AX, AX
	CPUID
	CMPL AX, $7
	JLT  done
	MOVL $1, AX
	XORL CX, CX
	CPUID
	MOVL CX, R8
	ANDL $(1<<12 | 1<<23 | 1<<27 | 1<<28), R8 // FMA, POPCNT, OSXSAVE, AVX
	CMPL R8, $(1<<12 | 1<<23 | 1<<27 | 1<<28)
	JNE  done
	XORL CX, CX
	XGETBV
	ANDL $6, AX // XMM and YMM
	CMPL AX, $6
	JNE  done
	MOVL $7, AX
	XORL CX, CX
	CPUID
	ANDL $(1<<3 | 1<<5 | 1<<8), BX // BMI1, AVX2, BMI2
	CMPL BX, $(1<<3 | 1<<5 | 1<<8)
	JNE  done
	MOVB $1, ret+0(FP)
done:
	RET
