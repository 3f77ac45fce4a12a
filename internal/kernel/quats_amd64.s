//go:build !purego && !netcode_plain

#include "go_asm.h"
#include "textflag.h"

DATA turnSign<>+0(SB)/8, $0x8000000000000000
GLOBL turnSign<>(SB), RODATA|NOPTR, $8
DATA turnOne<>+0(SB)/8, $1.0
GLOBL turnOne<>(SB), RODATA|NOPTR, $8
DATA turnHalf<>+0(SB)/8, $0.5
GLOBL turnHalf<>(SB), RODATA|NOPTR, $8
DATA turn256<>+0(SB)/8, $256.0
GLOBL turn256<>(SB), RODATA|NOPTR, $8
DATA turn65536<>+0(SB)/8, $65536.0
GLOBL turn65536<>(SB), RODATA|NOPTR, $8

// AHEAD applies delta.Delta.far to steps; -0 becomes 0. It divides as PART does; the values are below 2^36.
#define AHEAD(step) \
	VBROADCASTSD turnSign<>(SB), Y10         \
	VANDPD       Y10, step, Y9               \
	VANDNPD      step, Y10, step             \
	VBROADCASTSD Quats_Age(BX), Y10    \
	VMULPD       Y10, step, step             \
	VBROADCASTSD Quats_Half(BX), Y10   \
	VADDPD       Y10, step, step             \
	VBROADCASTSD Quats_Part(BX), Y10   \
	VMULPD       Y10, step, step             \
	VROUNDPD     $3, step, step              \
	VBROADCASTSD Quats_Limit(BX), Y10  \
	VMINPD       Y10, step, step             \
	VORPD        Y9, step, step              \
	VADDPD       Y13, step, step

// func AimQuats(s *Batch, c *Column, t *Quats)
TEXT ·AimQuats(SB), NOSPLIT, $0-24
	MOVQ s+0(FP), AX
	MOVQ c+8(FP), SI
	MOVQ t+16(FP), BX
	VPBROADCASTD Quats_M(BX), Y15
	VBROADCASTSD Quats_Whole(BX), Y14
	VXORPD       Y13, Y13, Y13
	MOVQ Batch_N(AX), CX
	MOVQ Quats_Straight(BX), R13
	LEAQ Batch_Aim(AX), DI
	MOVQ AX, R8
	MOVQ SI, R10
	LEAQ Column_Base(SI), DX
	LEAQ Column_Before(SI), SI
	MOVL $0x01010101, R12

four:
	// Four rows at T and, in the upper halves, at T': lanes 1 to 3 of all four in one register each, as 2n-m.
	VMOVDQU     (DX), X0
	VMOVDQU     16(DX), X1
	VMOVDQU     32(DX), X2
	VMOVDQU     48(DX), X3
	VINSERTI128 $1, (SI), Y0, Y0
	VINSERTI128 $1, 16(SI), Y1, Y1
	VINSERTI128 $1, 32(SI), Y2, Y2
	VINSERTI128 $1, 48(SI), Y3, Y3
	VPUNPCKLDQ  Y1, Y0, Y4
	VPUNPCKHDQ  Y1, Y0, Y5
	VPUNPCKLDQ  Y3, Y2, Y6
	VPUNPCKHDQ  Y3, Y2, Y7
	VPUNPCKHQDQ Y6, Y4, Y0
	VPUNPCKLQDQ Y7, Y5, Y1
	VPUNPCKHQDQ Y7, Y5, Y2
	VPADDD      Y0, Y0, Y0
	VPADDD      Y1, Y1, Y1
	VPADDD      Y2, Y2, Y2
	VPSUBD      Y15, Y0, Y0
	VPSUBD      Y15, Y1, Y1
	VPSUBD      Y15, Y2, Y2

	// From here on Y0, Y1, Y2 and Y6 are the components at T; Y3, Y4, Y5 and Y7 those at T'. The left-out component is last.
	VEXTRACTI128 $1, Y0, X3
	VEXTRACTI128 $1, Y1, X4
	VEXTRACTI128 $1, Y2, X5
	VCVTDQ2PD    X0, Y0
	VCVTDQ2PD    X1, Y1
	VCVTDQ2PD    X2, Y2
	VCVTDQ2PD    X3, Y3
	VCVTDQ2PD    X4, Y4
	VCVTDQ2PD    X5, Y5
	VMOVAPD      Y14, Y6
	VMOVAPD      Y14, Y7
	VFNMADD231PD Y0, Y0, Y6
	VFNMADD231PD Y3, Y3, Y7
	VFNMADD231PD Y1, Y1, Y6
	VFNMADD231PD Y4, Y4, Y7
	VFNMADD231PD Y2, Y2, Y6
	VFNMADD231PD Y5, Y5, Y7
	VMAXPD       Y13, Y6, Y6
	VMAXPD       Y13, Y7, Y7
	VSQRTPD      Y6, Y6
	VSQRTPD      Y7, Y7
	VROUNDPD     $3, Y6, Y6
	VROUNDPD     $3, Y7, Y7
	VMULPD       Y3, Y0, Y8               // dot product of both rotations
	VFMADD231PD  Y4, Y1, Y8
	VFMADD231PD  Y5, Y2, Y8
	VFMADD231PD  Y7, Y6, Y8
	VSUBPD       Y3, Y0, Y3               // steps from T' to T
	VSUBPD       Y4, Y1, Y4
	VSUBPD       Y5, Y2, Y5
	VSUBPD       Y7, Y6, Y7
	TESTQ        R13, R13
	JEQ          ahead

go:
	VORPD     Y3, Y4, Y9
	VORPD     Y5, Y9, Y9
	VORPD     Y7, Y9, Y9
	VPCMPEQQ  Y13, Y9, Y9                 // no movement
	VADDPD    Y3, Y0, Y0                  // the extrapolation
	VADDPD    Y4, Y1, Y1
	VADDPD    Y5, Y2, Y2
	VADDPD    Y7, Y6, Y6
	VMULPD    Y0, Y0, Y10                 // its squared length,
	VFMADD231PD Y1, Y1, Y10
	VFMADD231PD Y2, Y2, Y10
	VFMADD231PD Y6, Y6, Y10
	VBLENDVPD Y9, Y14, Y10, Y10           // unchanged without a movement
	VMOVUPD   Y0, (DI)
	VMOVUPD   Y1, 256(DI)                 // 256 bytes per component of MaxStreams rows
	VMOVUPD   Y2, 512(DI)
	VMOVUPD   Y10, 768(DI)

	// A bit for each row whose dot product and left-out component are not negative, and whose length is not 0.
	VMINPD    Y6, Y8, Y8
	VCMPPD    $2, Y8, Y13, Y8
	VCMPPD    $1, Y10, Y13, Y10
	VANDPD    Y10, Y8, Y8
	VMOVMSKPD Y8, AX

	// To bytes; clear the rows that leave out another component than at T, or than at T'.
	IMUL3L $0x00204081, AX, AX
	ANDL  R12, AX
	MOVL  Column_Differ(R10), R11
	MOVL  R11, R9
	ANDL  $0x11111111, R9
	ANDL  $0x0F0F0F0F, R11
	ANDNL AX, R9, AX
	SHRL  $4, R9
	ANDNL AX, R9, AX
	MOVL  AX, R9
	SHLL  $4, AX
	SUBL  R9, AX                          // 15 of 1
	ANDL  R11, AX
	XORL  AX, R11
	MOVL  AX, Batch_Usual(R8)
	MOVL  R11, Batch_Odd(R8)

	ADDQ $64, DX
	ADDQ $64, SI
	ADDQ $32, DI
	ADDQ $4, R8
	ADDQ $4, R10
	SUBQ $4, CX
	JGT  four
	VZEROUPPER
	RET

ahead:
	AHEAD(Y3)
	AHEAD(Y4)
	AHEAD(Y5)
	AHEAD(Y7)
	JMP go

// PART computes the extrapolated lane of four rows: component × d.length / length, rounded to the nearest. Y1 is 1/length, Y2 half of length,
// rounded down, plus 1/2, Y0 signs, Y15 d.length, Y14 m, Y13 m+1, Y12 zeros.
//
// It divides by multiplication, which is exact: for integers n = q*l+r, (n+1/2)/l is at least 1/(2l) away from q and from q+1. Factor and product are
// rounded by a relative 2^-53 each, together less than n/l * 2^-51. That is below 1/(2l) for n below 2^50; here n is below 2^44.
#define PART(at, to, lane) \
	VMOVUPD     at(SI), to   \
	VANDPD      Y0, to, Y3   \
	VORPD       Y2, Y3, Y3   \
	VFMADD231PD Y15, to, Y3  \
	VMULPD      Y1, Y3, Y3   \
	VCVTTPD2DQY Y3, lane     \
	VPADDD      X13, lane, lane \
	VPSRAD      $1, lane, lane  \
	VPMAXSD     X12, lane, lane \
	VPMINSD     X14, lane, lane

// func QuatParts(s *Batch, c *Column, t *Quats)
TEXT ·QuatParts(SB), NOSPLIT, $0-24
	MOVQ s+0(FP), AX
	MOVQ c+8(FP), DX
	MOVQ t+16(FP), BX
	VPBROADCASTD Quats_M(BX), Y14
	VBROADCASTSD Quats_Length(BX), Y15
	VPXOR        Y12, Y12, Y12
	VPCMPEQD     Y13, Y13, Y13
	VPSUBD       Y13, Y14, Y13
	MOVQ Batch_N(AX), CX
	LEAQ Batch_Aim(AX), SI
	LEAQ Batch_Origin(AX), DI
	LEAQ Column_Base(DX), DX

four:
	// The length (Y1) times 256, rounded down. If the root was rounded up to an integer, its square is too large: then subtract 1.
	VMOVUPD      768(SI), Y0
	VSQRTPD      Y0, Y1
	VBROADCASTSD turn65536<>(SB), Y2
	VMULPD       Y2, Y0, Y2
	VBROADCASTSD turn256<>(SB), Y3
	VMULPD       Y3, Y1, Y1
	VROUNDPD     $3, Y1, Y1
	VFMSUB231PD  Y1, Y1, Y2
	VCMPPD       $1, Y2, Y12, Y2
	VBROADCASTSD turnOne<>(SB), Y3
	VANDPD       Y3, Y2, Y2
	VSUBPD       Y2, Y1, Y1
	VBROADCASTSD turnHalf<>(SB), Y4
	VMULPD       Y4, Y1, Y2
	VROUNDPD     $3, Y2, Y2
	VADDPD       Y4, Y2, Y2
	VDIVPD       Y1, Y3, Y1
	VBROADCASTSD turnSign<>(SB), Y0
	PART(0, Y4, X4)
	PART(256, Y5, X5)
	PART(512, Y6, X6)

	// Back to rows, and the row a tick before T from which a straight line gives the extrapolation.
	VPUNPCKLDQ  X4, X4, X7
	VPUNPCKLDQ  X6, X5, X8
	VPUNPCKHDQ  X4, X4, X9
	VPUNPCKHDQ  X6, X5, X10
	VPUNPCKLQDQ X8, X7, X0
	VPUNPCKHQDQ X8, X7, X1
	VPUNPCKLQDQ X10, X9, X2
	VPUNPCKHQDQ X10, X9, X3
	VINSERTI128 $1, X1, Y0, Y0
	VINSERTI128 $1, X3, Y2, Y2
	VMOVDQU     (DX), Y1
	VMOVDQU     32(DX), Y3
	VPADDD      Y1, Y1, Y1
	VPADDD      Y3, Y3, Y3
	VPSUBD      Y0, Y1, Y1
	VPSUBD      Y2, Y3, Y3
	VMOVDQU     Y1, (DI)
	VMOVDQU     Y3, 32(DI)

	ADDQ $64, DX
	ADDQ $64, DI
	ADDQ $32, SI
	SUBQ $4, CX
	JGT  four
	VZEROUPPER
	RET
