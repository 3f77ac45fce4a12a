//go:build !purego && !netcode_plain

#include "textflag.h"

// func DifferingRows(a, b *byte, size, n int) (rows uint64)
//
// Eight rows at a time: R8 is the mask of those that differ, in the end a bit per row.
TEXT ·DifferingRows(SB), NOSPLIT, $0-40
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DI
	MOVQ size+16(FP), BX
	MOVQ n+24(FP), DX
	XORL R10, R10 // the mask; each eight bits shift the earlier ones
	MOVQ DX, R11
	CMPQ BX, $12
	JEQ  twelve
	JGT  sixteen

eight:
	// A bit per row.
	VMOVDQU   (SI), Y0
	VMOVDQU   32(SI), Y1
	VPCMPEQQ  (DI), Y0, Y0
	VPCMPEQQ  32(DI), Y1, Y1
	VMOVMSKPD Y0, R8
	VMOVMSKPD Y1, R9
	SHLL      $4, R9
	ORL       R9, R8
	NOTL      R8
	MOVBLZX   R8, R8
	ORQ       R8, R10
	RORQ      $8, R10
	ADDQ      $64, SI
	ADDQ      $64, DI
	SUBQ      $8, DX
	JG        eight
	JMP       done

twelve:
	// Three bits per row, one per word.
	VMOVDQU   (SI), Y0
	VMOVDQU   32(SI), Y1
	VMOVDQU   64(SI), Y2
	VPCMPEQD  (DI), Y0, Y0
	VPCMPEQD  32(DI), Y1, Y1
	VPCMPEQD  64(DI), Y2, Y2
	VMOVMSKPS Y0, R8
	VMOVMSKPS Y1, R9
	VMOVMSKPS Y2, R12
	SHLL      $8, R9
	SHLL      $16, R12
	ORL       R9, R8
	ORL       R12, R8
	NOTL      R8
	MOVL      R8, R9
	SHRL      $1, R9
	ORL       R9, R8
	SHRL      $1, R9
	ORL       R9, R8
	MOVL      $0x249249, R9
	PEXTL     R9, R8, R8
	ORQ       R8, R10
	RORQ      $8, R10
	ADDQ      $96, SI
	ADDQ      $96, DI
	SUBQ      $8, DX
	JG        twelve
	JMP       done

sixteen:
	// Two bits per row, one per 8 bytes.
	VMOVDQU   (SI), Y0
	VMOVDQU   32(SI), Y1
	VMOVDQU   64(SI), Y2
	VMOVDQU   96(SI), Y3
	VPCMPEQQ  (DI), Y0, Y0
	VPCMPEQQ  32(DI), Y1, Y1
	VPCMPEQQ  64(DI), Y2, Y2
	VPCMPEQQ  96(DI), Y3, Y3
	VMOVMSKPD Y0, R8
	VMOVMSKPD Y1, R9
	VMOVMSKPD Y2, R12
	VMOVMSKPD Y3, R13
	SHLL      $4, R9
	SHLL      $8, R12
	SHLL      $12, R13
	ORL       R9, R8
	ORL       R13, R12
	ORL       R12, R8
	NOTL      R8
	MOVL      R8, R9
	SHRL      $1, R9
	ORL       R9, R8
	MOVL      $0x5555, R9
	PEXTL     R9, R8, R8
	ORQ       R8, R10
	RORQ      $8, R10
	ADDQ      $128, SI
	ADDQ      $128, DI
	SUBQ      $8, DX
	JG        sixteen

done:
	MOVQ R11, CX
	ROLQ CX, R10
	MOVQ R10, rows+32(FP)
	VZEROUPPER
	RET
