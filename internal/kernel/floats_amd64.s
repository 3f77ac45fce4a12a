//go:build !purego && !netcode_plain

#include "go_asm.h"
#include "textflag.h"

// Constants for all lanes of a register.
DATA floatMagic<>+0(SB)/8, $0x4330000000000000 // 2^52: OR with a smaller integer gives 2^52 plus that integer
GLOBL floatMagic<>(SB), RODATA|NOPTR, $8
DATA floatExponent<>+0(SB)/8, $1022 // subtracted from the exponent to give the bit length
GLOBL floatExponent<>(SB), RODATA|NOPTR, $8
DATA floatOne<>+0(SB)/8, $1
GLOBL floatOne<>(SB), RODATA|NOPTR, $8
DATA floatTwo<>+0(SB)/8, $2
GLOBL floatTwo<>(SB), RODATA|NOPTR, $8
DATA floatFour<>+0(SB)/8, $4
GLOBL floatFour<>(SB), RODATA|NOPTR, $8
DATA floatFive<>+0(SB)/8, $5
GLOBL floatFive<>(SB), RODATA|NOPTR, $8
DATA floatLargest<>+0(SB)/8, $12 // movementSteps
GLOBL floatLargest<>(SB), RODATA|NOPTR, $8
DATA floatSteps<>+0(SB)/8, $432 // misses * deltaFlat
GLOBL floatSteps<>(SB), RODATA|NOPTR, $8
DATA floatZero<>+0(SB)/8, $0x1FFFFFFFF // negativeZeroDistance
GLOBL floatZero<>(SB), RODATA|NOPTR, $8
DATA floatInfinite<>+0(SB)/4, $0x7F800000
GLOBL floatInfinite<>(SB), RODATA|NOPTR, $4
DATA floatSign<>+0(SB)/4, $0x80000000
GLOBL floatSign<>(SB), RODATA|NOPTR, $4

// ORDERED applies orderedFloat to four lanes of floats. X14 is the sign bit.
#define ORDERED(lanes, x) \
	VPSRAD  $31, lanes, x       \
	VPANDN  lanes, X14, lanes   \
	VPXOR   x, lanes, lanes     \
	VPSUBD  x, lanes, lanes

// LENGTH replaces four numbers by their bit lengths. Y12 is the magic number and Y11 the exponent.
#define LENGTH(y) \
	VPOR     Y12, y, y  \
	VSUBPD   Y12, y, y  \
	VPSRLQ   $52, y, y  \
	VPMAXSD  Y11, y, y  \
	VPSUBD   Y11, y, y

// func FloatTokens(c *Column, rows int, contexts uint32, age, span float64)
TEXT ·FloatTokens(SB), NOSPLIT, $0-40
	MOVQ c+0(FP), BX
	MOVQ rows+8(FP), CX
	LEAQ Column_Now(BX), SI
	LEAQ Column_Base(BX), DX
	LEAQ Column_Before(BX), DI
	LEAQ Column_Token(BX), R8
	LEAQ Column_Raw(BX), R9
	MOVL contexts+16(FP), R10
	VMOVD        R10, X15
	VPBROADCASTQ X15, Y15
	VPBROADCASTD floatSign<>(SB), X14
	VPXOR        Y13, Y13, Y13
	VPBROADCASTQ floatMagic<>(SB), Y12
	VPBROADCASTQ floatExponent<>(SB), Y11
	VPBROADCASTQ floatOne<>(SB), Y10
	VBROADCASTSD age+24(FP), Y9
	VBROADCASTSD span+32(FP), Y8

row:
	VMOVDQU   (DX), X0                    // at T
	VCVTPS2PD (DX), Y1
	VCVTPS2PD (DI), Y2
	VSUBPD    Y2, Y1, Y2
	VMULPD    Y9, Y2, Y2
	VDIVPD    Y8, Y2, Y2
	VADDPD    Y2, Y1, Y1
	VCVTPD2PSY Y1, X1                     // the extrapolation
	VPBROADCASTD floatInfinite<>(SB), X3
	VPAND     X3, X1, X2
	VPCMPEQD  X3, X2, X2
	VPBLENDVB X2, X0, X1, X1              // if it is not finite, the value at T
	VMOVDQU   (SI), X2                    // now
	VPCMPEQD  X14, X2, X3                 // the negative zero
	ORDERED(X0, X4)
	ORDERED(X1, X4)
	ORDERED(X2, X4)
	VPMOVSXDQ X0, Y0
	VPMOVSXDQ X1, Y1
	VPMOVSXDQ X2, Y2
	VPMOVSXDQ X3, Y3
	VPSUBQ    Y0, Y1, Y0                  // the movement
	VPSUBQ    Y1, Y2, Y1                  // the distance
	VPBROADCASTQ floatZero<>(SB), Y4
	VPBLENDVB Y3, Y4, Y1, Y1
	VPCMPGTQ  Y0, Y13, Y2
	VPXOR     Y2, Y0, Y0
	VPSUBQ    Y2, Y0, Y0
	VPXOR     Y2, Y1, Y1                  // XOR with the sign of the movement
	VPSUBQ    Y2, Y1, Y1
	VPCMPGTQ  Y1, Y13, Y2
	VPXOR     Y2, Y1, Y1                  // the magnitude
	VPSUBQ    Y2, Y1, Y1
	VPAND     Y10, Y2, Y2                 // and the sign
	LENGTH(Y0)
	VPSRLQ    $1, Y0, Y0
	VPBROADCASTQ floatLargest<>(SB), Y3
	VPMINSD   Y3, Y0, Y0
	VPBROADCASTQ floatSteps<>(SB), Y3
	VPMULLD   Y3, Y0, Y0
	VPADDD    Y15, Y0, Y0
	VPADDD    Y2, Y0, Y0                  // context and sign
	VMOVDQA   Y1, Y2
	LENGTH(Y2)
	VPSLLQ    $2, Y1, Y3
	VPSRLVQ   Y2, Y3, Y3
	VPAND     Y10, Y3, Y3
	VPADDD    Y3, Y3, Y3
	VPADDD    Y3, Y0, Y0                  // the bit after the leading one
	VPSLLQ    $2, Y2, Y3
	VPBROADCASTQ floatFive<>(SB), Y4
	VPSUBD    Y4, Y3, Y3
	VPMAXSD   Y2, Y3, Y3
	VPADDD    Y3, Y0, Y0                  // and tokenBase
	VPCMPGTQ  Y10, Y2, Y3
	VPBROADCASTQ floatFour<>(SB), Y4
	VPCMPGTQ  Y4, Y2, Y4
	VPADDQ    Y4, Y3, Y3
	VPSUBQ    Y3, Y13, Y3
	VPSLLQ    $24, Y3, Y3                 // floatMiss
	VPOR      Y3, Y0, Y0
	VPBROADCASTQ floatTwo<>(SB), Y4
	VPSUBD    Y4, Y2, Y2
	VPMAXSD   Y13, Y2, Y2                 // raw bits
	VPSLLQ    $16, Y2, Y3                 // floatRaw
	VPOR      Y3, Y0, Y0
	VPSLLVQ   Y2, Y10, Y3
	VPSUBQ    Y10, Y3, Y3
	VPAND     Y3, Y1, Y1
	VEXTRACTI128 $1, Y0, X2
	VSHUFPS   $0x88, X2, X0, X0
	VMOVDQU   X0, (R8)
	VEXTRACTI128 $1, Y1, X2
	VSHUFPS   $0x88, X2, X1, X1
	VMOVDQU   X1, (R9)
	ADDQ      $16, DX
	ADDQ      $16, SI
	ADDQ      $16, DI
	ADDQ      $16, R8
	ADDQ      $16, R9
	DECQ      CX
	JGT       row
	VZEROUPPER
	RET

// PUT appends the CX bits of AX. R9 has R10 pending bits, after R14 words at R8. A branch on a full word would be unpredictable,
// so there is none.
#define PUT \
	SHLXQ   R10, AX, DX     \
	ORQ     DX, R9          \
	MOVQ    R9, (R8)(R14*8) \
	MOVQ    R10, DX         \
	NEGQ    DX              \
	SHRXQ   DX, AX, AX      \
	ADDQ    CX, R10         \
	BTRQ    $6, R10         \
	CMOVQCS AX, R9          \
	ADCQ    $0, R14

// func WriteFloats(t *FloatCodes, columns *Column, k int, out *uint64, acc, have uint64) (words int, rest, left uint64, rows int)
TEXT ·WriteFloats(SB), NOSPLIT, $0-80
	MOVQ t+0(FP), DI
	MOVQ columns+8(FP), SI
	MOVQ k+16(FP), BX
	MOVQ out+24(FP), R8
	MOVQ acc+32(FP), R9
	MOVQ have+40(FP), R10
	XORL R14, R14
	MOVL FloatCodes_Count(DI), R12

	// The masks of rows that differ now from T, and at T from T'.
	XORL R11, R11
	XORL R13, R13
	XORL CX, CX
rows:
	MOVBLZX Column_Differ(SI)(BX*1), AX
	MOVL    AX, DX
	ANDL    $15, AX
	ADDL    $15, AX
	SHRL    $4, AX
	SHLXL   CX, AX, AX
	ORL     AX, R11
	SHRL    $4, DX
	ADDL    $15, DX
	SHRL    $4, DX
	SHLXL   CX, DX, DX
	ORL     DX, R13
	ADDQ    $Column__size, SI
	INCL    CX
	CMPL    CX, R12
	JLT     rows
	MOVQ    R11, rows+72(FP)
	ANDL    FloatCodes_Known(DI), R13
	ADDL    FloatCodes_Context(DI), R13
	MOVL    FloatCodes_Shift(DI), CX
	SHLXL   CX, R13, R13
	ADDL    R11, R13
	MOVQ    FloatCodes_Rows(DI), DX
	MOVL    (DX)(R13*4), AX
	TESTL   AX, AX
	JZ      unknown
	MOVL    AX, CX
	SHRL    $16, CX
	MOVWLZX AX, AX
	PUT

	MOVQ columns+8(FP), SI
	ADDQ $FloatCodes_Columns, DI
	XORL R11, R11 // the previous lane's miss, as an offset in the codes

column:
	MOVBLZX Column_Differ(SI)(BX*1), R13
	MOVL    R13, AX
	ANDL    $15, R13
	JZ      next
	MOVQ    FloatColumn_Lanes(DI), DX
	TESTQ   DX, DX
	JZ      lane
	SHRL    $4, AX
	ANDL    FloatColumn_Known(DI), AX
	ADDL    FloatColumn_Context(DI), AX
	MOVL    FloatColumn_Shift(DI), CX
	SHLXL   CX, AX, AX
	ADDL    R13, AX
	MOVL    (DX)(AX*4), AX
	TESTL   AX, AX
	JZ      unknown
	MOVL    AX, CX
	SHRL    $16, CX
	MOVWLZX AX, AX
	PUT

lane:
	TZCNTL  R13, CX
	LEAQ    (CX)(BX*4), R15
	MOVQ    FloatColumn_Tokens(DI)(CX*8), DX
	MOVL    Column_Token(SI)(R15*4), AX
	MOVL    Column_Raw(SI)(R15*4), R15
	MOVWLZX AX, CX
	ADDL    R11, CX
	MOVL    (DX)(CX*4), DX
	TESTL   DX, DX
	JZ      unknown
	MOVL    AX, R11
	SHRL    $24, R11
	IMUL3L  $144, R11, R11 // deltaFlat
	SHRL    $16, AX
	MOVBLZX AX, CX         // raw bits
	MOVWLZX DX, AX
	SHRL    $16, DX
	ADDL    DX, CX
	SHLXQ   DX, R15, R15
	ORQ     R15, AX
	PUT
	BLSRL   R13, R13
	JNZ     lane

next:
	ADDQ $Column__size, SI
	ADDQ $FloatColumn__size, DI
	DECL R12
	JNZ  column
	MOVQ R14, words+48(FP)
	MOVQ R9, rest+56(FP)
	MOVQ R10, left+64(FP)
	RET

unknown:
	MOVQ $-1, rows+72(FP)
	RET
