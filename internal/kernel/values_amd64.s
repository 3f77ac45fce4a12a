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
// Quantises and writes back, for any number of fields per row.
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

// func DifferingLanes(words, lanes *uint32, row, stride, n int) (rows uint64)
//
// All differences are combined first: usually there are none. Otherwise each row shifts the bits of earlier ones.
TEXT ·DifferingLanes(SB), NOSPLIT, $0-48
	MOVQ     words+0(FP), SI
	MOVQ     lanes+8(FP), DI
	MOVQ     row+16(FP), R8
	MOVQ     stride+24(FP), R9
	MOVQ     n+32(FP), DX
	MOVQ     DX, CX
	SHLQ     $2, R9
	VPCMPEQD X4, X4, X4
	VMOVDQU  X4, X5
	CMPQ     R8, $3
	JNE      all
	VPSRLDQ  $4, X4, X5 // three of four words

all:
	SHLQ  $2, R8
	MOVQ  SI, R11
	MOVQ  DI, R12
	MOVQ  DX, R13
	VPXOR X6, X6, X6
	VPXOR X7, X7, X7
	LEAQ  (R8)(R8*2), AX
	LEAQ  (R9)(R9*2), BX
	SUBQ  $5, R13
	JLT   few

fours:
	// Prefetch: the words were written a round trip ago and are in no near cache.
	PREFETCHT0 1024(R11)
	VMOVDQU    (R11), X0
	VMOVDQU    (R11)(R8*1), X1
	VMOVDQU    (R11)(R8*2), X2
	VMOVDQU    (R11)(AX*1), X3
	VPXOR      (R12), X0, X0
	VPXOR      (R12)(R9*1), X1, X1
	VPXOR      (R12)(R9*2), X2, X2
	VPXOR      (R12)(BX*1), X3, X3
	VPOR       X0, X6, X6
	VPOR       X1, X7, X7
	VPOR       X2, X6, X6
	VPOR       X3, X7, X7
	LEAQ       (R11)(R8*4), R11
	LEAQ       (R12)(R9*4), R12
	SUBQ       $4, R13
	JGE        fours
	VPOR       X7, X6, X6

few:
	ADDQ $4, R13
	JZ   last

any:
	VMOVDQU (R11), X0 // the fourth word belongs to the next row
	VPXOR   (R12), X0, X0
	VPOR    X0, X6, X6
	ADDQ    R8, R11
	ADDQ    R9, R12
	DECQ    R13
	JNZ     any

last:
	VPMASKMOVD (R11), X5, X0
	VPMASKMOVD (R12), X5, X1
	VPXOR      X1, X0, X0
	VPOR       X0, X6, X6
	VPTEST     X5, X6
	JNZ        differ
	MOVQ       $0, rows+40(FP)
	VZEROUPPER
	RET

differ:
	CMPQ CX, $64
	JLE  rows
	MOVQ $1, rows+40(FP)
	VZEROUPPER
	RET

rows:
	VPMASKMOVD (SI), X5, X0
	VPMASKMOVD (DI), X5, X1
	VPCMPEQD   X1, X0, X0
	ADDQ       R8, SI
	ADDQ       R9, DI
	VPTEST     X4, X0      // carry: all words are equal
	RCRQ       $1, R10
	DECQ       DX
	JNZ        rows
	NOTQ       R10
	NEGQ       CX
	SHRQ       CX, R10     // one bit per row
	MOVQ       R10, rows+40(FP)
	VZEROUPPER
	RET
