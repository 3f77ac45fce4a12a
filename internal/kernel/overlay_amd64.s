//go:build !purego && !netcode_plain

#include "textflag.h"

// Eight rows at a time. DI and SI are the copies, DX the lanes, R8 the distance of rows in the lanes in bytes, CX the rows left, AX the rows done.
// New values are packed like the copies. Nothing is written before all eight rows were compared.

// PACK3 packs four rows of three words at base, R8 apart: a0 b0 c0 a1, b1 c1 a2 b2, c2 a3 b3 c3. R9 is 3*R8.
#define PACK3(base, x, y, z) \
	VMOVDQU (base), x                  \ // the fourth word belongs to the next row or precedes it
	VPINSRD $3, (base)(R8*1), x, x     \
	VMOVQ   4(base)(R8*1), y           \
	VMOVHPS (base)(R8*2), y, y         \
	VMOVDQU -4(base)(R9*1), z          \ // the word before belongs to the previous row or follows it
	VPINSRD $0, 8(base)(R8*2), z, z

// WRITE3 compares eight rows of three words with the new ones in Y0, Y2 and Y4, and writes them.
#define WRITE3 \
	VMOVDQU   (SI), Y6            \
	VMOVDQU   32(SI), Y7          \
	VMOVDQU   64(SI), Y8          \
	VPCMPEQD  (DI), Y6, Y9        \
	VPCMPEQD  32(DI), Y7, Y10     \
	VPCMPEQD  64(DI), Y8, Y11     \
	VPAND     Y10, Y9, Y9         \
	VPAND     Y11, Y9, Y9         \
	VMOVMSKPS Y9, R13             \
	CMPL      R13, $255           \
	JNE       done                \
	VPCMPEQD  Y0, Y6, Y6          \ // a bit per unchanged word, row by row
	VPCMPEQD  Y2, Y7, Y7          \
	VPCMPEQD  Y4, Y8, Y8          \
	VMOVMSKPS Y6, R13             \
	VMOVMSKPS Y7, R14             \
	VMOVMSKPS Y8, R15             \
	SHLL      $8, R14             \
	SHLL      $16, R15            \
	ORL       R14, R13            \
	ORL       R15, R13            \
	MOVL      R13, R14            \
	MOVL      R13, R15            \
	SHRL      $1, R14             \
	SHRL      $2, R15             \
	ANDL      R14, R13            \
	ANDL      R15, R13            \
	TESTL     $0x249249, R13      \ // the first of each three
	JNE       done                \
	VMOVDQU   Y0, (SI)            \
	VMOVDQU   Y2, 32(SI)          \
	VMOVDQU   Y4, 64(SI)          \
	VMOVDQU   Y0, (DI)            \
	VMOVDQU   Y2, 32(DI)          \
	VMOVDQU   Y4, 64(DI)          \
	ADDQ      $96, SI             \
	ADDQ      $96, DI             \
	ADDQ      $8, AX

// WRITE4 compares eight rows of four words with the new ones in Y0 to Y3, and writes them. Y15 is all ones.
#define WRITE4 \
	VMOVDQU   (SI), Y4            \
	VMOVDQU   32(SI), Y5          \
	VMOVDQU   64(SI), Y6          \
	VMOVDQU   96(SI), Y7          \
	VPCMPEQD  (DI), Y4, Y8        \
	VPCMPEQD  32(DI), Y5, Y9      \
	VPCMPEQD  64(DI), Y6, Y10     \
	VPCMPEQD  96(DI), Y7, Y11     \
	VPAND     Y9, Y8, Y8          \
	VPAND     Y11, Y10, Y10       \
	VPAND     Y10, Y8, Y8         \
	VMOVMSKPS Y8, R13             \
	CMPL      R13, $255           \
	JNE       done                \
	VPCMPEQD  Y0, Y4, Y4          \
	VPCMPEQD  Y1, Y5, Y5          \
	VPCMPEQD  Y2, Y6, Y6          \
	VPCMPEQD  Y3, Y7, Y7          \
	VPACKSSDW Y5, Y4, Y4          \ // a byte per word, four together per row
	VPACKSSDW Y7, Y6, Y6          \
	VPACKSSWB Y6, Y4, Y4          \
	VPCMPEQD  Y15, Y4, Y4         \
	VPTEST    Y4, Y4              \
	JNE       done                \
	VMOVDQU   Y0, (SI)            \
	VMOVDQU   Y1, 32(SI)          \
	VMOVDQU   Y2, 64(SI)          \
	VMOVDQU   Y3, 96(SI)          \
	VMOVDQU   Y0, (DI)            \
	VMOVDQU   Y1, 32(DI)          \
	VMOVDQU   Y2, 64(DI)          \
	VMOVDQU   Y3, 96(DI)          \
	SUBQ      $-128, SI           \
	SUBQ      $-128, DI           \
	ADDQ      $8, AX

// func Overlay3(live, kept *byte, lanes *uint32, step, n uintptr) uintptr
TEXT ·Overlay3(SB), NOSPLIT, $0-48
	MOVQ live+0(FP), DI
	MOVQ kept+8(FP), SI
	MOVQ lanes+16(FP), DX
	MOVQ step+24(FP), R8
	MOVQ n+32(FP), CX
	XORL AX, AX
	LEAQ (R8)(R8*2), R9

eight:
	LEAQ (DX)(R8*4), BX
	PACK3(DX, X0, X1, X2)
	PACK3(BX, X3, X4, X5)
	VINSERTI128 $1, X1, Y0, Y0
	VINSERTI128 $1, X3, Y2, Y2
	VINSERTI128 $1, X5, Y4, Y4
	WRITE3
	LEAQ (BX)(R8*4), DX
	SUBQ $8, CX
	JNE  eight

done:
	VZEROUPPER
	MOVQ AX, ret+40(FP)
	RET

// func Overlay4(live, kept *byte, lanes *uint32, step, n uintptr) uintptr
TEXT ·Overlay4(SB), NOSPLIT, $0-48
	MOVQ live+0(FP), DI
	MOVQ kept+8(FP), SI
	MOVQ lanes+16(FP), DX
	MOVQ step+24(FP), R8
	MOVQ n+32(FP), CX
	XORL AX, AX
	LEAQ (R8)(R8*2), R9
	VPCMPEQD Y15, Y15, Y15

eight:
	LEAQ (DX)(R8*4), BX
	VMOVDQU (DX), X0
	VMOVDQU (DX)(R8*2), X1
	VMOVDQU (BX), X2
	VMOVDQU (BX)(R8*2), X3
	VINSERTI128 $1, (DX)(R8*1), Y0, Y0
	VINSERTI128 $1, (DX)(R9*1), Y1, Y1
	VINSERTI128 $1, (BX)(R8*1), Y2, Y2
	VINSERTI128 $1, (BX)(R9*1), Y3, Y3
	WRITE4
	LEAQ (BX)(R8*4), DX
	SUBQ $8, CX
	JNE  eight

done:
	VZEROUPPER
	MOVQ AX, ret+40(FP)
	RET
