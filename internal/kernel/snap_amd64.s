//go:build !purego && !netcode_plain

#include "go_asm.h"
#include "textflag.h"

// One of the three components of eight rotations, four in lo and four in hi: it is replaced by its lanes, and its values are then in lo and hi as float64.
#define SNAPPED(part, xpart, lo, hi, xhi, more, xmore) \
	VEXTRACTF128 $1, part, xhi                    \
	VCVTPS2PD    xpart, lo                        \
	VCVTPS2PD    xhi, hi                          \
	VMULPD       QuatNumbers_Scale(AX), lo, lo    \
	VMULPD       QuatNumbers_Scale(AX), hi, hi    \
	VADDPD       QuatNumbers_Mid(AX), lo, lo      \
	VADDPD       QuatNumbers_Mid(AX), hi, hi      \
	VROUNDPD     $11, lo, lo                      \
	VROUNDPD     $11, hi, hi                      \
	VCVTTPD2DQY  lo, xpart                        \
	VCVTTPD2DQY  hi, xmore                        \
	VINSERTF128  $1, xmore, part, part            \
	VMULPD       QuatNumbers_Step(AX), lo, lo     \
	VMULPD       QuatNumbers_Step(AX), hi, hi     \
	VSUBPD       QuatNumbers_Edge(AX), lo, lo     \
	VSUBPD       QuatNumbers_Edge(AX), hi, hi

// Converts eight float64 to float32, all in lo.
#define NARROW(lo, xlo, hi, xhi) \
	VCVTPD2PSY  lo, xlo          \
	VCVTPD2PSY  hi, xhi          \
	VINSERTF128 $1, xhi, lo, lo

// func SnapQuats(q *QuatNumbers, rotations *byte, lanes *uint32, n int) (done int, odd uint64)
//
// Quantises and writes back eight rotations: even rows in the lower half of each register, odd rows in the upper half.
// The tests use float32. They are stricter than those of quantiseQuat by more than the rounding errors.
TEXT ·SnapQuats(SB), NOSPLIT, $0-48
	MOVQ         q+0(FP), AX
	MOVQ         rotations+8(FP), SI
	MOVQ         lanes+16(FP), DX
	MOVQ         n+24(FP), CX
	XORL         R10, R10
	XORL         R12, R12
	VPCMPEQD     Y15, Y15, Y15
	VPSRLD       $1, Y15, Y15 // mask of a float32 without its sign

block:
	CMPQ R10, CX
	JGE  done
	PREFETCHT0 1024(DX)
	PREFETCHT0 1088(DX)

	// Y0 to Y3: x, y, z and w.
	VMOVUPS   (SI), Y4
	VMOVUPS   32(SI), Y5
	VMOVUPS   64(SI), Y6
	VMOVUPS   96(SI), Y7
	VUNPCKLPS Y5, Y4, Y0
	VUNPCKHPS Y5, Y4, Y2
	VUNPCKLPS Y7, Y6, Y1
	VUNPCKHPS Y7, Y6, Y3
	VUNPCKHPD Y1, Y0, Y5
	VUNPCKLPD Y1, Y0, Y0
	VUNPCKHPD Y3, Y2, Y7
	VUNPCKLPD Y3, Y2, Y2
	VMOVAPS   Y5, Y1
	VMOVAPS   Y7, Y3

	// Y4: mask of those with another length than 1 within the slack.
	VBROADCASTSS QuatNumbers_Unit(AX), Y4
	VFNMADD231PS Y0, Y0, Y4
	VFNMADD231PS Y1, Y1, Y4
	VFNMADD231PS Y2, Y2, Y4
	VFNMADD231PS Y3, Y3, Y4
	VANDPS       Y15, Y4, Y4
	VBROADCASTSS QuatNumbers_UnitSlack(AX), Y8
	VCMPPS       $0x15, Y8, Y4, Y4

	// Y14: the largest magnitude; Y11: the second largest. Add to Y4 those with both near each other.
	VANDPS       Y15, Y0, Y5
	VANDPS       Y15, Y1, Y6
	VANDPS       Y15, Y2, Y7
	VANDPS       Y15, Y3, Y8
	VMAXPS       Y6, Y5, Y10
	VMINPS       Y6, Y5, Y11
	VMAXPS       Y8, Y7, Y12
	VMINPS       Y8, Y7, Y13
	VMAXPS       Y12, Y10, Y14
	VMINPS       Y12, Y10, Y9
	VMAXPS       Y13, Y11, Y11
	VMAXPS       Y9, Y11, Y11
	VBROADCASTSS QuatNumbers_UnitNear(AX), Y8
	VSUBPS       Y8, Y14, Y8
	VCMPPS       $0x16, Y8, Y11, Y11
	VORPS        Y11, Y4, Y4

	// Y5, Y6, Y7: the largest is x; x or y; x, y or z.
	VCMPPS $0, Y14, Y5, Y5
	VCMPPS $0, Y14, Y6, Y6
	VCMPPS $0, Y14, Y7, Y7
	VORPS  Y5, Y6, Y6
	VORPS  Y6, Y7, Y7

	// Y0, Y1, Y2: the three others, in order, times the sign of the largest. Y3: the index of the largest.
	VBLENDVPS      Y7, Y2, Y3, Y8
	VBLENDVPS      Y6, Y1, Y8, Y8
	VBLENDVPS      Y5, Y0, Y8, Y8
	VANDNPS        Y8, Y15, Y8
	VBLENDVPS      Y5, Y1, Y0, Y0
	VBLENDVPS      Y6, Y2, Y1, Y1
	VBLENDVPS      Y7, Y3, Y2, Y2
	VXORPS         Y8, Y0, Y0
	VXORPS         Y8, Y1, Y1
	VXORPS         Y8, Y2, Y2
	VBROADCASTI128 QuatNumbers_Last(AX), Y3
	VPADDD         Y5, Y3, Y3
	VPADDD         Y6, Y3, Y3
	VPADDD         Y7, Y3, Y3

	// Y0, Y1, Y2: their lanes; Y8, Y9, Y10: their values; Y11 and Y12: the sums of squares, added in the same order as in Go.
	SNAPPED(Y0, X0, Y8, Y9, X9, Y10, X10)
	VMULPD Y8, Y8, Y11
	VMULPD Y9, Y9, Y12
	NARROW(Y8, X8, Y9, X9)
	SNAPPED(Y1, X1, Y9, Y10, X10, Y13, X13)
	VMULPD Y9, Y9, Y13
	VMULPD Y10, Y10, Y14
	VADDPD Y13, Y11, Y11
	VADDPD Y14, Y12, Y12
	NARROW(Y9, X9, Y10, X10)
	SNAPPED(Y2, X2, Y10, Y13, X13, Y14, X14)
	VMULPD Y10, Y10, Y14
	VADDPD Y14, Y11, Y11
	VMULPD Y13, Y13, Y14
	VADDPD Y14, Y12, Y12
	NARROW(Y10, X10, Y13, X13)

	// Y11: the values of the largest.
	VMOVUPD QuatNumbers_One(AX), Y13
	VSUBPD  Y11, Y13, Y11
	VSUBPD  Y12, Y13, Y12
	VXORPD  Y14, Y14, Y14
	VMAXPD  Y14, Y11, Y11
	VMAXPD  Y14, Y12, Y12
	VSQRTPD Y11, Y11
	VSQRTPD Y12, Y12
	NARROW(Y11, X11, Y12, X12)

	// Y12, Y13, Y14, Y11: x, y, z and w. Then two rows in each of Y5 to Y8.
	VBLENDVPS Y5, Y11, Y8, Y12
	VBLENDVPS Y5, Y8, Y11, Y13
	VBLENDVPS Y6, Y13, Y9, Y13
	VBLENDVPS Y6, Y9, Y11, Y14
	VBLENDVPS Y7, Y14, Y10, Y14
	VBLENDVPS Y7, Y10, Y11, Y11
	VUNPCKLPS Y13, Y12, Y8
	VUNPCKHPS Y13, Y12, Y9
	VUNPCKLPS Y11, Y14, Y10
	VUNPCKHPS Y11, Y14, Y12
	VUNPCKLPD Y10, Y8, Y5
	VUNPCKHPD Y10, Y8, Y6
	VUNPCKLPD Y12, Y9, Y7
	VUNPCKHPD Y12, Y9, Y8

	// The lanes, two rows in each of Y0 to Y3.
	VPUNPCKLDQ  Y0, Y3, Y9
	VPUNPCKHDQ  Y0, Y3, Y10
	VPUNPCKLDQ  Y2, Y1, Y11
	VPUNPCKHDQ  Y2, Y1, Y12
	VPUNPCKLQDQ Y11, Y9, Y0
	VPUNPCKHQDQ Y11, Y9, Y1
	VPUNPCKLQDQ Y12, Y10, Y2
	VPUNPCKHQDQ Y12, Y10, Y3
	VMOVMSKPS   Y4, R12
	TESTL       R12, R12
	JNZ         odd

store:
	VMOVUPS Y5, (SI)
	VMOVUPS Y6, 32(SI)
	VMOVUPS Y7, 64(SI)
	VMOVUPS Y8, 96(SI)
	VMOVDQU Y0, (DX)
	VMOVDQU Y1, 32(DX)
	VMOVDQU Y2, 64(DX)
	VMOVDQU Y3, 96(DX)
	ADDQ    $128, SI
	ADDQ    $128, DX
	INCQ    R10
	TESTL   R12, R12
	JZ      block

done:
	MOVQ R10, done+32(FP)
	MOVQ R12, odd+40(FP)
	VZEROUPPER
	RET

	// Rotations in Y4 are not changed, nor are their lanes: quantiseQuat might give another result.
odd:
	VPSHUFD   $0x00, Y4, Y9
	VPSHUFD   $0x55, Y4, Y10
	VPSHUFD   $0xAA, Y4, Y11
	VPSHUFD   $0xFF, Y4, Y12
	VBLENDVPS Y9, (SI), Y5, Y5
	VBLENDVPS Y10, 32(SI), Y6, Y6
	VBLENDVPS Y11, 64(SI), Y7, Y7
	VBLENDVPS Y12, 96(SI), Y8, Y8
	VBLENDVPS Y9, (DX), Y0, Y0
	VBLENDVPS Y10, 32(DX), Y1, Y1
	VBLENDVPS Y11, 64(DX), Y2, Y2
	VBLENDVPS Y12, 96(DX), Y3, Y3
	JMP       store
