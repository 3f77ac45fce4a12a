//go:build !purego && !netcode_plain

#include "go_asm.h"
#include "textflag.h"

// Constants, four times each: 1<<(movementSteps-1); the exponent of 1/2; misses times entries, for the contexts of a movement; Down of an ExpectedLane.
DATA expectLargest<>+0(SB)/8, $0x0000080000000800
DATA expectLargest<>+8(SB)/8, $0x0000080000000800
GLOBL expectLargest<>(SB), RODATA|NOPTR, $16
DATA expectHalf<>+0(SB)/8, $0x0000007E0000007E
DATA expectHalf<>+8(SB)/8, $0x0000007E0000007E
GLOBL expectHalf<>(SB), RODATA|NOPTR, $16
DATA expectSteps<>+0(SB)/8, $0x0000030000000300
DATA expectSteps<>+8(SB)/8, $0x0000030000000300
GLOBL expectSteps<>(SB), RODATA|NOPTR, $16
DATA expectDown<>+0(SB)/8, $0x1000000010000000
DATA expectDown<>+8(SB)/8, $0x1000000010000000
GLOBL expectDown<>(SB), RODATA|NOPTR, $16

// The largest movement in 32 bits, and a sign bit.
DATA expectFar<>+0(SB)/8, $2147483647.0
GLOBL expectFar<>(SB), RODATA|NOPTR, $8
DATA expectSign<>+0(SB)/8, $0x8000000000000000
GLOBL expectSign<>(SB), RODATA|NOPTR, $8

// func Expect(e *Expected, m *Movement, base, before *uint32, stride, n int)
//
// A movement times age, plus half of span, is little more than 2^47: see PART (quats_amd64.s) for why multiplying by 1/span is exact.
TEXT ·Expect(SB), NOSPLIT, $0-48
	MOVQ e+0(FP), DI
	MOVQ m+8(FP), AX
	MOVQ base+16(FP), DX
	MOVQ before+24(FP), SI
	MOVQ stride+32(FP), R8
	MOVQ n+40(FP), CX
	LEAQ Expected_Moved(DI), R9
	SHLQ $2, R8
	VMOVDQU      Movement_Lanes(AX), X15
	VBROADCASTSD Movement_Age(AX), Y14
	VBROADCASTSD Movement_Half(AX), Y13
	VBROADCASTSD Movement_Part(AX), Y12
	VBROADCASTSD expectSign<>(SB), Y11
	VBROADCASTSD expectFar<>(SB), Y10
	VPXOR        X9, X9, X9
	VMOVDQU      Movement_Top(AX), X8
	VPBROADCASTD Movement_First(AX), X7
	MOVL         Movement_Whole(AX), R10
	VPBROADCASTD Movement_Whole(AX), X6

row:
	VPMASKMOVD (DX), X15, X0              // at T
	VPMASKMOVD (SI), X15, X1              // at T'
	VPCMPEQD   X0, X1, X2
	VMOVMSKPS  X2, BX
	XORL       $15, BX
	MOVB       BX, (R9)
	VPSUBD     X1, X0, X1                 // the movement
	VPMULLD    X6, X1, X2
	TESTL      R10, R10
	JNE        whole
	VCVTDQ2PD  X1, Y2
	VANDPD     Y11, Y2, Y3                // its sign
	VANDNPD    Y2, Y11, Y2                // and magnitude
	VMULPD     Y14, Y2, Y2
	VADDPD     Y13, Y2, Y2
	VMULPD     Y12, Y2, Y2
	VROUNDPD   $3, Y2, Y2
	VMINPD     Y10, Y2, Y2                // clamp: the bounds are nearer anyway
	VORPD      Y3, Y2, Y2
	VCVTTPD2DQY Y2, X2

whole:
	VMOVDQA    X2, X1                     // the extrapolated movement
	VPSUBD     X0, X9, X3                 // room downwards
	VPSUBD     X0, X8, X4                 // room upwards
	VPMAXSD    X3, X1, X3
	VPMINSD    X4, X3, X3
	VPADDD     X0, X3, X3                 // At
	VPSRAD     $31, X1, X4
	VPAND      expectDown<>(SB), X4, X4   // Down
	VPABSD     X1, X1
	VPMINUD    expectLargest<>(SB), X1, X1
	VCVTDQ2PS  X1, X1                     // exact: 2048 at most
	VPSRLD     $23, X1, X1
	VPSUBUSW   expectHalf<>(SB), X1, X1   // the bit length
	VPMULLW    expectSteps<>(SB), X1, X1
	VPADDD     X7, X1, X1                 // Place
	VPOR       X4, X1, X1
	VPUNPCKLDQ X1, X3, X4
	VPUNPCKHDQ X1, X3, X5
	VMOVDQU    X4, (DI)
	VMOVDQU    X5, 16(DI)

	ADDQ R8, DX
	ADDQ R8, SI
	ADDQ $32, DI
	INCQ R9
	DECQ CX
	JGT  row
	VZEROUPPER
	RET
