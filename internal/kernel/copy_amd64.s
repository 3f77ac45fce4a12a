//go:build !purego && !netcode_plain

#include "textflag.h"

// func CopyFloats(dst *uint32, src *byte, size uintptr) bool
//
// Y0 has the exponent bits of a float32 in each lane, and Y1 the largest exponent so far in that lane: if all its bits are set,
// a float is not finite.
TEXT ·CopyFloats(SB), NOSPLIT, $0-25
	MOVQ     dst+0(FP), DI
	VPCMPEQD Y0, Y0, Y0
	VPSRLD   $24, Y0, Y0
	VPSLLD   $23, Y0, Y0
	VPXOR    Y1, Y1, Y1
	// 128 bytes at a time and the last 128 together; below 128 bytes, 32 at a time. Y4 to Y7 have consecutive bytes.
	MOVQ src+8(FP), SI
	MOVQ size+16(FP), CX
	XORL AX, AX
	LEAQ -32(CX), DX
	SUBQ $128, CX // offset of the last four registers
	JLT  few
	VMOVDQU (SI), Y4
	VMOVDQU Y4, (DI)
	VPAND   Y0, Y4, Y4
	VPMAXUD Y4, Y1, Y1
	MOVQ DI, AX
	NEGQ AX
	ANDQ $31, AX
	CMPQ    AX, CX
	CMOVQGT CX, AX
many:
	VMOVDQU (SI)(AX*1), Y4
	VMOVDQU 32(SI)(AX*1), Y5
	VMOVDQU 64(SI)(AX*1), Y6
	VMOVDQU 96(SI)(AX*1), Y7
	VMOVDQU Y4, (DI)(AX*1)
	VMOVDQU Y5, 32(DI)(AX*1)
	VMOVDQU Y6, 64(DI)(AX*1)
	VMOVDQU Y7, 96(DI)(AX*1)
	VPAND   Y0, Y4, Y4
	VPAND   Y0, Y5, Y5
	VPAND   Y0, Y6, Y6
	VPAND   Y0, Y7, Y7
	VPMAXUD Y4, Y1, Y1
	VPMAXUD Y5, Y6, Y5
	VPMAXUD Y7, Y1, Y1
	VPMAXUD Y5, Y1, Y1
	CMPQ    AX, CX
	JEQ     done
	ADDQ    $128, AX
	CMPQ    AX, CX
	CMOVQGT CX, AX
	JMP     many
few:
	VMOVDQU (SI)(AX*1), Y4
	VMOVDQU Y4, (DI)(AX*1)
	VPAND   Y0, Y4, Y4
	VPMAXUD Y4, Y1, Y1
	CMPQ    AX, DX
	JEQ     done
	ADDQ    $32, AX
	CMPQ    AX, DX
	CMOVQGT DX, AX
	JMP     few
done:
	VPCMPEQD  Y0, Y1, Y1
	VPMOVMSKB Y1, AX
	VZEROUPPER
	TESTL AX, AX
	SETEQ ret+24(FP)
	RET
