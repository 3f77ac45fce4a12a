//go:build !purego

#include "textflag.h"

// func runWide(dst *uint32, first *byte, shift, width uintptr, rest *byte, size, ahead uintptr) bool
//
// In all of it Y0 holds, in each lane, the bits of the exponent of a float32, and Y1 the largest exponent that was met in that lane: where all its bits are set,
// something is not finite.
TEXT ·runWide(SB), NOSPLIT, $0-57
	MOVQ     dst+0(FP), DI
	MOVQ     width+24(FP), CX
	VPCMPEQD Y0, Y0, Y0
	VPSRLD   $24, Y0, Y0
	VPSLLD   $23, Y0, Y0
	VPXOR    Y1, Y1, Y1
	SHLQ     $2, CX // bytes of the first row
	JEQ      rest

	// The first row, which begins within a byte: 32 bytes at a time and the last 32 of them together. Y4 holds four words from there on,
	// Y5 the four behind the first of each, of which come the bits that were shifted out.
	MOVQ  first+8(FP), SI
	MOVQ  shift+16(FP), AX
	VMOVQ AX, X2
	NEGQ  AX
	ADDQ  $64, AX
	VMOVQ AX, X3
	LEAQ  -32(CX), DX // where the last ones are
	XORL  AX, AX
row:
	VMOVDQU (SI)(AX*1), Y4
	VMOVDQU 8(SI)(AX*1), Y5
	VPSRLQ  X2, Y4, Y4
	VPSLLQ  X3, Y5, Y5
	VPOR    Y4, Y5, Y4
	VMOVDQU Y4, (DI)(AX*1)
	VPAND   Y0, Y4, Y4
	VPMAXUD Y4, Y1, Y1
	CMPQ    AX, DX
	JEQ     rowdone
	ADDQ    $32, AX
	CMPQ    AX, DX
	CMOVQGT DX, AX
	JMP     row
rowdone:
	ADDQ CX, DI

	// All others, which are copied: Y4 to Y7 hold what lies one behind the other.
rest:
	MOVQ rest+32(FP), SI
	MOVQ size+40(FP), CX
	TESTQ CX, CX
	JEQ  done
	XORL AX, AX
	LEAQ -32(CX), DX
	SUBQ $128, CX // where the last four are
	JLT  few
	MOVQ ahead+48(FP), R8
	ADDQ DI, R8
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
	PREFETCHT0 (R8)(AX*1)
	PREFETCHT0 64(R8)(AX*1)
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
	SETEQ ret+56(FP)
	RET
