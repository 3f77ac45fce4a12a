//go:build !purego && !netcode_plain

#include "go_asm.h"
#include "textflag.h"

// Four floats of a block: computes their lanes, and the values of these. Y15 stays all ones if all floats are within bounds.
#define SNAP(at, lanes, values) \
	VCVTPS2PD   (at/2)(SI), Y5                    \
	VMOVUPD     (FixedBlock_Least+at)(AX), Y6     \
	VCMPPD      $0x1D, Y6, Y5, Y7                 \
	VCMPPD      $0x12, (FixedBlock_Most+at)(AX), Y5, Y8 \
	VANDPD      Y7, Y15, Y15                      \
	VANDPD      Y8, Y15, Y15                      \
	VSUBPD      Y6, Y5, Y5                        \
	VMULPD      (FixedBlock_Scale+at)(AX), Y5, Y5 \
	VADDPD      Y4, Y5, Y5                        \
	VCVTTPD2DQY Y5, lanes                         \
	VCVTDQ2PD   lanes, Y5                         \
	VMULPD      (FixedBlock_Step+at)(AX), Y5, Y5  \
	VADDPD      Y6, Y5, Y5                        \
	VMINPD      (FixedBlock_Most+at)(AX), Y5, Y5  \
	VCVTPD2PSY  Y5, values

// func SnapBlocks(b *FixedBlock, floats *byte, lanes *uint32, n int) (done int)
//
// FixedRows and FixedValues in one, for any number of fields per row.
TEXT ·SnapBlocks(SB), NOSPLIT, $0-40
	MOVQ         b+0(FP), AX
	MOVQ         floats+8(FP), SI
	MOVQ         lanes+16(FP), DX
	MOVQ         n+24(FP), CX
	XORL         R10, R10
	VBROADCASTSD FixedBlock_Half(AX), Y4

block:
	CMPQ      R10, CX
	JGE       done
	PREFETCHT0 768(DX)
	VPCMPEQD  Y15, Y15, Y15
	SNAP(0, X9, X10)
	SNAP(32, X11, X12)
	SNAP(64, X13, X14)
	VMOVMSKPD Y15, R12
	CMPL      R12, $15
	JNE       done
	VMOVDQU   X9, (DX)
	VMOVDQU   X11, 16(DX)
	VMOVDQU   X13, 32(DX)
	VMOVUPS   X10, (SI)
	VMOVUPS   X12, 16(SI)
	VMOVUPS   X14, 32(SI)
	ADDQ      $48, DX
	ADDQ      $48, SI
	INCQ      R10
	JMP       block

done:
	MOVQ R10, done+32(FP)
	VZEROUPPER
	RET
