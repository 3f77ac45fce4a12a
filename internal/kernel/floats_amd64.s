//go:build !purego && !netcode_plain

#include "go_asm.h"
#include "textflag.h"

// Numbers that all lanes of a register share.
DATA floatMagic<>+0(SB)/8, $0x4330000000000000 // 2^52: a number below that, or-ed to it, is the fraction of the sum
GLOBL floatMagic<>(SB), RODATA|NOPTR, $8
DATA floatExponent<>+0(SB)/8, $1022 // the exponent of a number of no bits
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

// ORDERED makes four lanes of floats the numbers of orderedFloat. X14 is the sign.
#define ORDERED(lanes, x) \
	VPSRAD  $31, lanes, x       \
	VPANDN  lanes, X14, lanes   \
	VPXOR   x, lanes, lanes     \
	VPSUBD  x, lanes, lanes

// LENGTH makes four numbers their bit lengths. Y12 is the magic number and Y11 the exponent.
#define LENGTH(y) \
	VPOR     Y12, y, y  \
	VSUBPD   Y12, y, y  \
	VPSRLQ   $52, y, y  \
	VPMAXSD  Y11, y, y  \
	VPSUBD   Y11, y, y

// func FloatTokens(s *Batch, c *Column, rows int, contexts uint32, age, span float64)
TEXT ·FloatTokens(SB), NOSPLIT, $0-48
	MOVQ s+0(FP), AX
	MOVQ c+8(FP), BX
	MOVQ rows+16(FP), CX
	LEAQ Column_Now(BX), SI
	LEAQ Column_Base(BX), DX
	LEAQ Column_Before(BX), DI
	LEAQ Batch_Token(AX), R8
	LEAQ Batch_Raw(AX), R9
	MOVL contexts+24(FP), R10
	VMOVD        R10, X15
	VPBROADCASTQ X15, Y15
	VPBROADCASTD floatSign<>(SB), X14
	VPXOR        Y13, Y13, Y13
	VPBROADCASTQ floatMagic<>(SB), Y12
	VPBROADCASTQ floatExponent<>(SB), Y11
	VPBROADCASTQ floatOne<>(SB), Y10
	VBROADCASTSD age+32(FP), Y9
	VBROADCASTSD span+40(FP), Y8

row:
	VMOVDQU   (DX), X0                    // at T
	VCVTPS2PD (DX), Y1
	VCVTPS2PD (DI), Y2
	VSUBPD    Y2, Y1, Y2
	VMULPD    Y9, Y2, Y2
	VDIVPD    Y8, Y2, Y2
	VADDPD    Y2, Y1, Y1
	VCVTPD2PSY Y1, X1                     // where it goes
	VPBROADCASTD floatInfinite<>(SB), X3
	VPAND     X3, X1, X2
	VPCMPEQD  X3, X2, X2
	VPBLENDVB X2, X0, X1, X1              // what is not finite stays
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
	VPXOR     Y2, Y1, Y1                  // folded by the movement's sign
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
	VPADDD    Y3, Y0, Y0                  // the bit behind the first
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
