//go:build !purego && !netcode_plain

#include "go_asm.h"
#include "textflag.h"

// Constants for all lanes of a register.
DATA floatExponent<>+0(SB)/4, $126 // subtracted from the exponent to give the bit length
GLOBL floatExponent<>(SB), RODATA|NOPTR, $4
DATA floatOne<>+0(SB)/4, $1
GLOBL floatOne<>(SB), RODATA|NOPTR, $4
DATA floatTwo<>+0(SB)/4, $2
GLOBL floatTwo<>(SB), RODATA|NOPTR, $4
DATA floatFour<>+0(SB)/4, $4
GLOBL floatFour<>(SB), RODATA|NOPTR, $4
DATA floatNine<>+0(SB)/4, $9
GLOBL floatNine<>(SB), RODATA|NOPTR, $4
DATA floatLargest<>+0(SB)/4, $12 // movementSteps
GLOBL floatLargest<>(SB), RODATA|NOPTR, $4
DATA floatSteps<>+0(SB)/4, $432 // misses * deltaFlat
GLOBL floatSteps<>(SB), RODATA|NOPTR, $4
DATA floatUnit<>+0(SB)/8, $0x3FF0000000000000 // 1
GLOBL floatUnit<>(SB), RODATA|NOPTR, $8
DATA floatInfinite<>+0(SB)/4, $0x7F800000
GLOBL floatInfinite<>(SB), RODATA|NOPTR, $4
DATA floatMagnitude<>+0(SB)/4, $0x7FFFFFFF
GLOBL floatMagnitude<>(SB), RODATA|NOPTR, $4

// ORDERED applies orderedFloat to floats. Y14 is the magnitude's bits.
#define ORDERED(floats, y) \
	VPAND   Y14, floats, y    \
	VPSIGND floats, y, floats

// LENGTH finds the bit lengths of numbers below 2^31. A number without the bit behind its first cannot round up to a longer float.
// Y12 is the exponent.
#define LENGTH(of, y) \
	VPSRLD    $1, of, y   \
	VPANDN    of, y, y    \
	VCVTDQ2PS y, y        \
	VPSRLD    $23, y, y   \
	VPSUBUSW  Y12, y, y

// SPIN lets a rotation a, in double, go on turning by the angle from b to a, AX times: spinFactors and spinExtrapolation in package delta. It uses
// R12 and the registers 3 to 6.
#define SPIN(a, b, loop, done) \
	VMULPD       a, a, Y3       \
	VMULPD       b, b, Y4       \
	VMULPD       b, a, Y5       \
	VHADDPD      Y4, Y3, Y3     \
	VHADDPD      Y5, Y5, Y5     \
	VEXTRACTF128 $1, Y3, X4     \
	VADDPD       X4, X3, X3     \ // the squares of both lengths
	VEXTRACTF128 $1, Y5, X6     \
	VADDSD       X6, X5, X5     \ // the sum of the products
	VUNPCKHPD    X3, X3, X4     \
	VMULSD       X4, X3, X3     \
	VSQRTSD      X3, X3, X3     \
	VDIVSD       X3, X5, X5     \
	VADDSD       X5, X5, X5     \ // twice the cosine
	VMOVAPD      X5, X3         \ // the factor of a
	VMOVSD       floatUnit<>(SB), X4 \ // and that of b
	MOVQ         AX, R12        \
loop:                           \
	DECQ         R12            \
	JZ           done           \
	VMULSD       X3, X5, X6     \
	VSUBSD       X4, X6, X6     \
	VMOVAPD      X3, X4         \
	VMOVAPD      X6, X3         \
	JMP          loop           \
done:                           \
	VBROADCASTSD X3, Y3         \
	VBROADCASTSD X4, Y4         \
	VMULPD       a, Y3, a       \
	VMULPD       b, Y4, b       \
	VSUBPD       b, a, a

// func FloatTokens(c *Column, rows int, contexts uint32, age, span float64, turns int64) (large bool)
TEXT ·FloatTokens(SB), NOSPLIT, $0-49
	MOVQ c+0(FP), BX
	MOVQ rows+8(FP), CX
	LEAQ Column_Now(BX), SI
	LEAQ Column_Base(BX), DX
	LEAQ Column_Before(BX), DI
	LEAQ Column_Token(BX), R8
	LEAQ Column_Raw(BX), R9
	LEAQ Column_Large(BX), R10
	XORL R11, R11 // the large lanes of all rows
	MOVL contexts+16(FP), AX
	VMOVD        AX, X15
	VPBROADCASTD X15, Y15
	VPBROADCASTD floatMagnitude<>(SB), Y14
	VPCMPEQD     Y13, Y13, Y13
	VPSLLD       $31, Y13, Y13            // the negative zero
	VPBROADCASTD floatExponent<>(SB), Y12
	VPBROADCASTD floatInfinite<>(SB), Y11
	VPBROADCASTD floatOne<>(SB), Y10
	VBROADCASTSD age+24(FP), Y9
	VBROADCASTSD span+32(FP), Y8

rows:
	VCVTPS2PD (DX), Y0                    // at T
	VCVTPS2PD 16(DX), Y1
	VCVTPS2PD (DI), Y2                    // at T'
	VCVTPS2PD 16(DI), Y7
	MOVQ      turns+40(FP), AX
	TESTQ     AX, AX
	JNZ       spin
	VSUBPD    Y2, Y0, Y2
	VSUBPD    Y7, Y1, Y3
	VMULPD    Y9, Y2, Y2
	VMULPD    Y9, Y3, Y3
	VDIVPD    Y8, Y2, Y2
	VDIVPD    Y8, Y3, Y3
	VADDPD    Y2, Y0, Y0
	VADDPD    Y3, Y1, Y1

floats:
	VCVTPD2PSY Y0, X0
	VCVTPD2PSY Y1, X1
	VINSERTI128 $1, X1, Y0, Y0            // the extrapolation
	VMOVDQU   (DX), Y1
	VPAND     Y11, Y0, Y2
	VPCMPEQD  Y11, Y2, Y2
	VPBLENDVB Y2, Y1, Y0, Y0              // if it is not finite, the value at T
	VMOVDQU   (SI), Y2                    // now
	VPCMPEQD  Y13, Y2, Y7                 // the top bit of Y7: the lane is large
	ORDERED(Y0, Y3)
	ORDERED(Y1, Y3)
	ORDERED(Y2, Y3)
	VPSUBD    Y1, Y0, Y3                  // the movement
	VPSUBD    Y0, Y2, Y4                  // the distance
	VPXOR     Y0, Y1, Y1                  // did they overflow?
	VPXOR     Y0, Y3, Y5
	VPAND     Y5, Y1, Y1
	VPOR      Y1, Y7, Y7
	VPXOR     Y2, Y0, Y0
	VPXOR     Y2, Y4, Y5
	VPAND     Y5, Y0, Y0
	VPOR      Y0, Y7, Y7
	VPOR      Y10, Y3, Y0
	VPSIGND   Y0, Y4, Y4                  // XOR with the sign of the movement
	VPSRLD    $31, Y4, Y1                 // the sign
	VPABSD    Y3, Y3
	VPABSD    Y4, Y4                      // and the magnitude
	VPOR      Y3, Y7, Y7                  // -2^31 has none
	VPOR      Y4, Y7, Y7
	VMOVMSKPS Y7, AX
	MOVB      AX, (R10)
	ORL       AX, R11
	LENGTH(Y3, Y0)
	VPSRLD    $1, Y0, Y0
	VPBROADCASTD floatLargest<>(SB), Y2
	VPMINSD   Y2, Y0, Y0
	VPBROADCASTD floatSteps<>(SB), Y2
	VPMADDWD  Y2, Y0, Y0
	VPADDD    Y15, Y0, Y0
	VPADDD    Y1, Y0, Y0                  // context and sign
	LENGTH(Y4, Y1)
	VPBROADCASTD floatTwo<>(SB), Y2
	VPSUBUSW  Y2, Y1, Y2                  // raw bits
	VPSRLVD   Y2, Y4, Y3                  // the bits before them: 2 or 3
	VPSLLVD   Y2, Y3, Y5
	VPSUBD    Y5, Y4, Y4
	VMOVDQU   Y4, (R9)
	VPADDD    Y1, Y1, Y4                  // tokenBase and the bit after the leading one: max(k, 4k-5 + 2*bit)
	VPADDD    Y3, Y4, Y4
	VPADDD    Y4, Y4, Y4
	VPBROADCASTD floatNine<>(SB), Y5
	VPSUBD    Y5, Y4, Y4
	VPMAXSD   Y1, Y4, Y4
	VPADDD    Y4, Y0, Y0
	VPSLLD    $16, Y2, Y2                 // floatRaw
	VPADDD    Y2, Y0, Y0
	VPCMPGTD  Y10, Y1, Y3
	VPBROADCASTD floatFour<>(SB), Y4
	VPCMPGTD  Y4, Y1, Y4
	VPADDD    Y4, Y3, Y3
	VPSLLD    $24, Y3, Y3                 // floatMiss
	VPSUBD    Y3, Y0, Y0
	VMOVDQU   Y0, (R8)
	ADDQ      $32, DX
	ADDQ      $32, SI
	ADDQ      $32, DI
	ADDQ      $32, R8
	ADDQ      $32, R9
	INCQ      R10
	SUBQ      $2, CX
	JGT       rows
	VZEROUPPER
	TESTL     R11, R11
	SETNE     large+48(FP)
	RET

spin:
	SPIN(Y0, Y2, turnFirst, turnedFirst)
	SPIN(Y1, Y7, turnSecond, turnedSecond)
	JMP floats

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
