//go:build !purego && !netcode_plain

#include "go_asm.h"
#include "textflag.h"

// func FixedValues(r *FixedRun, column *byte, size int, lanes *uint32, stride, n int)
//
// One row at a time, as in FixedRows.
TEXT ·FixedValues(SB), NOSPLIT, $0-48
	MOVQ     r+0(FP), AX
	MOVQ     column+8(FP), DI
	MOVQ     size+16(FP), R8
	MOVQ     lanes+24(FP), SI
	MOVQ     stride+32(FP), R9
	MOVQ     n+40(FP), CX
	SHLQ     $2, R9
	MOVQ     FixedRun_Fields(AX), BX
	VMOVUPD  FixedRun_Least(AX), Y0
	VMOVUPD  FixedRun_Most(AX), Y1
	VMOVUPD  FixedRun_Step(AX), Y2
	VMOVDQU  FixedRun_Mask(AX), X3
	VPCMPEQD X4, X4, X4
	VPSRLD   $1, X4, X4 // the largest int32: above all lanes of a field, so that the value is clamped to Most

row:
	VPMASKMOVD (SI), X3, X5
	VPMINUD    X4, X5, X5
	VCVTDQ2PD  X5, Y5
	VMULPD     Y2, Y5, Y5
	VADDPD     Y0, Y5, Y5
	VMINPD     Y1, Y5, Y5
	VCVTPD2PSY Y5, X5

	// Store as many fields as there are.
	CMPQ     BX, $3
	JGT      four
	VMOVQ    X5, (DI)
	JLT      next
	VPEXTRD  $2, X5, 8(DI)

next:
	ADDQ R9, SI
	ADDQ R8, DI
	DECQ CX
	JNZ  row
	VZEROUPPER
	RET

four:
	VMOVDQU X5, (DI)
	JMP     next

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

// func QuatValues(q *QuatNumbers, column *byte, size int, lanes *uint32, stride, n int) (done int)
//
// Four rotations at a time, with each lane of all four in one register.
TEXT ·QuatValues(SB), NOSPLIT, $0-56
	MOVQ     q+0(FP), AX
	MOVQ     column+8(FP), DI
	MOVQ     size+16(FP), R8
	MOVQ     lanes+24(FP), SI
	MOVQ     stride+32(FP), R9
	MOVQ     n+40(FP), CX
	SHLQ     $2, R9
	LEAQ     (R9)(R9*2), BX
	LEAQ     (R8)(R8*2), R13
	XORL     R10, R10
	VMOVDQU  QuatNumbers_Last(AX), X12 // 3
	VPCMPEQD X14, X14, X14
	VPSRLD   $31, X14, X14             // 1
	VPADDD   X14, X14, X15             // 2

fours:
	LEAQ 4(R10), R11
	CMPQ R11, CX
	JGT  done

	// X0: the index of the left-out component. X5, X2 and X7: the three others, in order.
	VMOVDQU     (SI), X4
	VMOVDQU     (SI)(R9*1), X5
	VMOVDQU     (SI)(R9*2), X6
	VMOVDQU     (SI)(BX*1), X7
	VPUNPCKLDQ  X5, X4, X0
	VPUNPCKHDQ  X5, X4, X2
	VPUNPCKLDQ  X7, X6, X1
	VPUNPCKHDQ  X7, X6, X3
	VPUNPCKHQDQ X1, X0, X5
	VPUNPCKLQDQ X1, X0, X0
	VPUNPCKHQDQ X3, X2, X7
	VPUNPCKLQDQ X3, X2, X2

	// Check that all lanes fit int32.
	VPOR   X2, X5, X8
	VPOR   X7, X8, X8
	VPSRLD $31, X8, X8
	VPTEST X8, X8
	JNZ    done

	// X8: the left-out component. Products and sums are rounded one by one, in the same order as in Go.
	VCVTDQ2PD  X5, Y5
	VCVTDQ2PD  X2, Y2
	VCVTDQ2PD  X7, Y7
	VMULPD     QuatNumbers_Step(AX), Y5, Y5
	VMULPD     QuatNumbers_Step(AX), Y2, Y2
	VMULPD     QuatNumbers_Step(AX), Y7, Y7
	VSUBPD     QuatNumbers_Edge(AX), Y5, Y5
	VSUBPD     QuatNumbers_Edge(AX), Y2, Y2
	VSUBPD     QuatNumbers_Edge(AX), Y7, Y7
	VMULPD     Y5, Y5, Y8
	VMULPD     Y2, Y2, Y9
	VMULPD     Y7, Y7, Y10
	VADDPD     Y9, Y8, Y8
	VADDPD     Y10, Y8, Y8
	VMOVUPD    QuatNumbers_One(AX), Y9
	VSUBPD     Y8, Y9, Y8
	VXORPD     Y13, Y13, Y13
	VMAXPD     Y13, Y8, Y8
	VSQRTPD    Y8, Y8
	VCVTPD2PSY Y8, X8
	VCVTPD2PSY Y5, X5
	VCVTPD2PSY Y2, X2
	VCVTPD2PSY Y7, X7

	// X1, X3, X4, X6: x, y, z and w.
	VPCMPEQD  X13, X0, X9
	VPCMPEQD  X14, X0, X10
	VPCMPEQD  X15, X0, X11
	VPCMPEQD  X12, X0, X0
	VBLENDVPS X9, X8, X5, X1
	VBLENDVPS X10, X8, X2, X3
	VBLENDVPS X9, X5, X3, X3
	VBLENDVPS X11, X8, X7, X4
	VPOR      X9, X10, X10
	VBLENDVPS X10, X2, X4, X4
	VBLENDVPS X0, X8, X7, X6

	// Store the four components of each row.
	VUNPCKLPS X3, X1, X8
	VUNPCKHPS X3, X1, X9
	VUNPCKLPS X6, X4, X10
	VUNPCKHPS X6, X4, X11
	VUNPCKLPD X10, X8, X0
	VUNPCKHPD X10, X8, X1
	VUNPCKLPD X11, X9, X2
	VUNPCKHPD X11, X9, X3
	VMOVUPS   X0, (DI)
	VMOVUPS   X1, (DI)(R8*1)
	VMOVUPS   X2, (DI)(R8*2)
	VMOVUPS   X3, (DI)(R13*1)
	LEAQ      (DI)(R8*4), DI
	LEAQ      (SI)(R9*4), SI
	MOVQ      R11, R10
	JMP       fours

done:
	MOVQ R10, done+48(FP)
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
