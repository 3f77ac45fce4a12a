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
