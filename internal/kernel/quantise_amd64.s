//go:build !purego && !netcode_plain

#include "go_asm.h"
#include "textflag.h"

// func FixedRows(r *FixedRun, column *byte, size int, rows *int32, n int, lanes *uint32, stride int) (done int)
//
// One row at a time, with its two to four fields in one register as float64. No row waits for the previous one.
TEXT ·FixedRows(SB), NOSPLIT, $0-64
	MOVQ    r+0(FP), AX
	MOVQ    column+8(FP), SI
	MOVQ    size+16(FP), R8
	MOVQ    rows+24(FP), DI
	MOVQ    n+32(FP), CX
	MOVQ    lanes+40(FP), DX
	MOVQ    stride+48(FP), R9
	SHLQ    $2, R9
	XORL    R10, R10
	MOVQ    FixedRun_Fields(AX), BX
	VMOVUPD FixedRun_Least(AX), Y0
	VMOVUPD FixedRun_Most(AX), Y1
	VMOVUPD FixedRun_Scale(AX), Y2
	VMOVUPD FixedRun_Half(AX), Y4
	VMOVDQU FixedRun_Mask(AX), X3

row:
	CMPQ R10, CX
	JGE  done

	// The fields of the row as float64, 0 for missing ones; nothing after the last field is read.
	MOVLQSX    (DI)(R10*4), R11
	IMULQ      R8, R11
	VMASKMOVPS (SI)(R11*1), X3, X5
	VCVTPS2PD  X5, Y5

	// Check that all are within bounds; NaN is not.
	VCMPPD    $0x1D, Y0, Y5, Y6
	VCMPPD    $0x12, Y1, Y5, Y7
	VANDPD    Y6, Y7, Y6
	VMOVMSKPD Y6, R12
	CMPL      R12, $15
	JNE       done

	// Each operation is rounded as in Go. Below 2^31, int32 and uint32 are the same.
	VSUBPD      Y0, Y5, Y5
	VMULPD      Y2, Y5, Y5
	VADDPD      Y4, Y5, Y5
	VCVTTPD2DQY Y5, X5

	// Store as many lanes as there are fields.
	INCQ    R10
	CMPQ    BX, $3
	JGT     four
	VMOVQ   X5, (DX)
	JLT     next
	VPEXTRD $2, X5, 8(DX)

next:
	ADDQ R9, DX
	JMP  row

four:
	VMOVDQU X5, (DX)
	ADDQ    R9, DX
	JMP     row

done:
	MOVQ R10, done+56(FP)
	VZEROUPPER
	RET

// func QuatRows(q *QuatNumbers, column *byte, size int, rows *int32, n int, lanes *uint32, stride int) (done int)
//
// Four rotations at a time, with x, y, z and w of all four in one register each.
TEXT ·QuatRows(SB), NOSPLIT, $0-64
	MOVQ     q+0(FP), AX
	MOVQ     column+8(FP), SI
	MOVQ     size+16(FP), R8
	MOVQ     rows+24(FP), DI
	MOVQ     n+32(FP), CX
	MOVQ     lanes+40(FP), DX
	MOVQ     stride+48(FP), R9
	SHLQ     $2, R9
	LEAQ     (R9)(R9*2), BX
	XORL     R10, R10
	VPCMPEQD Y9, Y9, Y9
	VPSRLD   $1, Y9, Y9 // mask of a float32 without its sign

fours:
	LEAQ 4(R10), R11
	CMPQ R11, CX
	JGT  done

	// X0 to X3: x, y, z and w.
	MOVLQSX   (DI)(R10*4), R12
	MOVLQSX   4(DI)(R10*4), R13
	IMULQ     R8, R12
	IMULQ     R8, R13
	VMOVUPS   (SI)(R12*1), X4
	VMOVUPS   (SI)(R13*1), X5
	MOVLQSX   8(DI)(R10*4), R12
	MOVLQSX   12(DI)(R10*4), R13
	IMULQ     R8, R12
	IMULQ     R8, R13
	VMOVUPS   (SI)(R12*1), X6
	VMOVUPS   (SI)(R13*1), X7
	VUNPCKLPS X5, X4, X0
	VUNPCKHPS X5, X4, X2
	VUNPCKLPS X7, X6, X1
	VUNPCKHPS X7, X6, X3
	VUNPCKHPD X1, X0, X5
	VUNPCKLPD X1, X0, X0
	VUNPCKHPD X3, X2, X7
	VUNPCKLPD X3, X2, X2
	VMOVAPS   X5, X1
	VMOVAPS   X7, X3

	// Y8: mask of those with length 1 within the slack. Squares are added in the same order as in Go.
	VCVTPS2PD X0, Y4
	VCVTPS2PD X1, Y5
	VCVTPS2PD X2, Y6
	VCVTPS2PD X3, Y7
	VMULPD    Y4, Y4, Y4
	VMULPD    Y5, Y5, Y5
	VMULPD    Y6, Y6, Y6
	VMULPD    Y7, Y7, Y7
	VADDPD    Y5, Y4, Y4
	VADDPD    Y6, Y4, Y4
	VADDPD    Y7, Y4, Y4
	VSUBPD    QuatNumbers_One(AX), Y4, Y4
	VCMPPD    $0x11, QuatNumbers_Slack(AX), Y4, Y8
	VCMPPD    $0x1E, QuatNumbers_Less(AX), Y4, Y5
	VANDPD    Y5, Y8, Y8

	// X14: the largest magnitude; X11: the second largest.
	VANDPS X9, X0, X4
	VANDPS X9, X1, X5
	VANDPS X9, X2, X6
	VANDPS X9, X3, X7
	VMAXPS X5, X4, X10
	VMINPS X5, X4, X11
	VMAXPS X7, X6, X12
	VMINPS X7, X6, X13
	VMAXPS X12, X10, X14
	VMINPS X12, X10, X15
	VMAXPS X13, X11, X11
	VMAXPS X15, X11, X11

	// X4, X5, X6: the largest is x; x or y; x, y or z. Of equal ones the first counts.
	VCMPPS $0, X14, X4, X4
	VCMPPS $0, X14, X5, X5
	VCMPPS $0, X14, X6, X6
	VORPS  X4, X5, X5
	VORPS  X5, X6, X6

	// Check that all have length 1, and that no second largest is near the largest.
	VCVTPS2PD X11, Y11
	VCVTPS2PD X14, Y14
	VSUBPD    QuatNumbers_Near(AX), Y14, Y14
	VCMPPD    $0x12, Y14, Y11, Y11
	VANDPD    Y8, Y11, Y11
	VMOVMSKPD Y11, R12
	CMPL      R12, $15
	JNE       done

	// X7, X8, X10: the three others, in order, times the sign of the largest (X11). X4: the index of the largest.
	VBLENDVPS X4, X1, X0, X7
	VBLENDVPS X5, X2, X1, X8
	VBLENDVPS X6, X3, X2, X10
	VBLENDVPS X6, X2, X3, X11
	VBLENDVPS X5, X1, X11, X11
	VBLENDVPS X4, X0, X11, X11
	VANDNPS   X11, X9, X11
	VXORPS    X11, X7, X7
	VXORPS    X11, X8, X8
	VXORPS    X11, X10, X10
	VPADDD    X5, X4, X4
	VPADDD    X6, X4, X4
	VPADDD    QuatNumbers_Last(AX), X4, X4

	// Their lanes. The sign of a factor does not change the magnitude bits of a product.
	VCVTPS2PD   X7, Y7
	VCVTPS2PD   X8, Y8
	VCVTPS2PD   X10, Y10
	VMULPD      QuatNumbers_Scale(AX), Y7, Y7
	VMULPD      QuatNumbers_Scale(AX), Y8, Y8
	VMULPD      QuatNumbers_Scale(AX), Y10, Y10
	VADDPD      QuatNumbers_Mid(AX), Y7, Y7
	VADDPD      QuatNumbers_Mid(AX), Y8, Y8
	VADDPD      QuatNumbers_Mid(AX), Y10, Y10
	VCVTTPD2DQY Y7, X7
	VCVTTPD2DQY Y8, X8
	VCVTTPD2DQY Y10, X10

	// Store four lanes per row.
	VPUNPCKLDQ  X7, X4, X0
	VPUNPCKHDQ  X7, X4, X1
	VPUNPCKLDQ  X10, X8, X2
	VPUNPCKHDQ  X10, X8, X3
	VPUNPCKLQDQ X2, X0, X4
	VPUNPCKHQDQ X2, X0, X5
	VPUNPCKLQDQ X3, X1, X6
	VPUNPCKHQDQ X3, X1, X7
	VMOVDQU     X4, (DX)
	VMOVDQU     X5, (DX)(R9*1)
	VMOVDQU     X6, (DX)(R9*2)
	VMOVDQU     X7, (DX)(BX*1)
	LEAQ        (DX)(R9*4), DX
	MOVQ        R11, R10
	JMP         fours

done:
	MOVQ R10, done+56(FP)
	VZEROUPPER
	RET
