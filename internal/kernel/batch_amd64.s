//go:build !purego && !netcode_plain

#include "go_asm.h"
#include "textflag.h"

// Of eight entities: a permutation that spreads their bytes to 32-bit numbers, with the first four in the lower half of each 64 bits and the
// other four in the upper half. Then: masks of up to four lanes, for VPMASKMOVD; the code of a short token; 63; 64; half of each byte; the
// offsets of four streams, and the distance to the other four.
DATA wideConst<>+0(SB)/8, $0x0703060205010400
DATA wideConst<>+8(SB)/8, $0x0000000100000000
DATA wideConst<>+16(SB)/8, $0x0000000300000002
DATA wideConst<>+24(SB)/8, $const_ShortCode
DATA wideConst<>+32(SB)/8, $63
DATA wideConst<>+40(SB)/8, $64
DATA wideConst<>+48(SB)/8, $0x0F0F0F0F0F0F0F0F
DATA wideConst<>+56(SB)/8, $0
DATA wideConst<>+64(SB)/8, $const_StreamBytes
DATA wideConst<>+72(SB)/8, $(2*const_StreamBytes)
DATA wideConst<>+80(SB)/8, $(3*const_StreamBytes)
DATA wideConst<>+88(SB)/8, $(4*const_StreamBytes)
GLOBL wideConst<>(SB), RODATA|NOPTR, $96

// LANE appends the tokens of a lane to the codes of eight entities. Y15 masks the entities with such a token. TOKENS is the address of their
// indexes in the lane's table. Y14 is the minimum of the entries so far, 0 if one is not cached. Y13 has the bits and Y11 their number for the
// first four entities; Y12 and Y10 for the others.
#define LANE(i, TABLE, TOKENS, skip) \
	TESTB $(1<<i), any+48(FP); \
	JEQ   skip; \
	VPBROADCASTD (TokenTables_Last+4*i)(R9), Y6; \
	VPMINUD TOKENS, Y6, TOKENS; \
	VMOVDQA Y15, Y6; \
	VPXOR   Y7, Y7, Y7; \
	VPGATHERDD Y6, (TABLE)(TOKENS*4), Y7; \
	VPMINUD Y7, Y14, Y14; \
	VPAND   Y7, Y9, Y6; \
	VPSLLVQ Y11, Y6, Y6; \
	VPOR    Y6, Y13, Y13; \
	VPSLLQ  $32, Y7, Y6; \
	VPSRLQ  $(32+const_ShortSize), Y6, Y6; \
	VPADDQ  Y6, Y11, Y11; \
	VPSRLQ  $32, Y7, Y6; \
	VPAND   Y6, Y9, Y6; \
	VPSLLVQ Y10, Y6, Y6; \
	VPOR    Y6, Y12, Y12; \
	VPSRLQ  $(32+const_ShortSize), Y7, Y6; \
	VPADDQ  Y6, Y10, Y10

// func take(c *Column, k, to int, indexes *uint32, h *RowSlice) int
//
// A row is three or four words, which are read and written as four. In a row of three the fourth word is not read (VPMASKMOVD), and is 0.
TEXT ·take(SB), NOSPLIT, $0-48
	MOVQ c+0(FP), DI
	MOVQ k+8(FP), R8
	MOVQ indexes+24(FP), SI
	MOVQ h+32(FP), DX
	MOVQ RowSlice_InBase(DX), R12
	MOVQ RowSlice_InBefore(DX), R13
	MOVQ R12, R14
	ANDQ R13, R14 // entities in both sets
	VPBROADCASTD Column_Lanes(DI), X0
	VPCMPGTD wideConst<>+8(SB), X0, X7 // lanes of a row
	MOVQ Column_Lanes(DI), R9
	MOVQ RowSlice_Gap(DX), BX
	LEAQ (R9)(BX*1), R11
	SHLQ $2, R9  // distance of rows now, in bytes
	SHLQ $2, R11 // and at T and at T'
	SHLQ $2, BX
	MOVQ BX, CX
	MOVQ RowSlice_Now(DX), R10
	ADDQ RowSlice_Base(DX), BX
	ADDQ RowSlice_Before(DX), CX
	MOVL RowSlice_First(DX), DX
	NEGL DX
	VPXOR X6, X6, X6 // lanes that differ in any row
	JMP  more

row:
	MOVL (SI)(R8*4), AX
	ADDL DX, AX
	CMPL AX, $64
	JAE  done
	BTQ  AX, R14
	JCC  done

	// The index of the row as of T, and of the row as of T'.
	BZHIQ   AX, R12, R15
	POPCNTQ R15, R15
	IMULQ   R11, R15
	VPMASKMOVD (BX)(R15*1), X7, X1
	BZHIQ   AX, R13, R15
	POPCNTQ R15, R15
	IMULQ   R11, R15
	VPMASKMOVD (CX)(R15*1), X7, X2
	IMULQ   R9, AX
	VPMASKMOVD (R10)(AX*1), X7, X0

	MOVQ R8, R15
	SHLQ $4, R15
	VMOVDQU X0, Column_Now(DI)(R15*1)
	VMOVDQU X1, Column_Base(DI)(R15*1)
	VMOVDQU X2, Column_Before(DI)(R15*1)

	// Mask of the lanes that are equal at T and now (four bits), and at T' and T (four bits). Its inverse has the differing lanes.
	VPCMPEQD  X0, X1, X0
	VPCMPEQD  X1, X2, X1
	VPACKSSDW X1, X0, X0
	VPACKSSWB X0, X0, X0
	VPMOVMSKB X0, AX
	NOTL AX
	MOVB AX, Column_Differ(DI)(R8*1)
	VMOVD AX, X0
	VPOR X0, X6, X6
	INCQ R8

more:
	CMPQ R8, to+16(FP)
	JLT  row

done:
	VMOVD X6, AX
	ANDL $(1<<const_Lanes-1), AX
	ORB  AX, Column_Any(DI)
	MOVQ R8, ret+40(FP)
	RET

// func touch(c *Column, k, to int, indexes *uint32, h *RowSlice)
//
// It visits the rows as take does, and prefetches each.
TEXT ·touch(SB), NOSPLIT, $0-40
	MOVQ c+0(FP), DI
	MOVQ k+8(FP), R8
	MOVQ to+16(FP), R10
	MOVQ indexes+24(FP), SI
	MOVQ h+32(FP), DX
	MOVQ RowSlice_InBase(DX), R12
	MOVQ RowSlice_InBefore(DX), R13
	MOVQ Column_Lanes(DI), R9
	MOVQ RowSlice_Gap(DX), BX
	LEAQ (R9)(BX*1), R11
	SHLQ $2, R9
	SHLQ $2, R11
	MOVQ RowSlice_Now(DX), DI
	MOVQ RowSlice_Base(DX), BX
	MOVQ RowSlice_Before(DX), CX
	MOVL RowSlice_First(DX), DX
	JMP  next

ask:
	MOVL    (SI)(R8*4), AX
	SUBL    DX, AX
	BZHIQ   AX, R12, R14
	POPCNTQ R14, R14
	IMULQ   R11, R14
	ADDQ    BX, R14
	PREFETCHT0 (R14)
	PREFETCHT0 -4(R14)(R11*1)
	BZHIQ   AX, R13, R14
	POPCNTQ R14, R14
	IMULQ   R11, R14
	ADDQ    CX, R14
	PREFETCHT0 (R14)
	PREFETCHT0 -4(R14)(R11*1)
	IMULQ   R9, AX
	ADDQ    DI, AX
	PREFETCHT0 (AX)
	PREFETCHT0 -4(AX)(R9*1)
	INCQ    R8

next:
	CMPQ R8, R10
	JLT  ask
	RET

// func Write(s *Batch, c *Column, t *TokenTables, lanes, context, known, any uint64) (left uint64)
//
// Eight entities at a time. The code of a row is built first. It is appended to the stream only if all its codes are cached and it fits
// 64 bits.
TEXT ·Write(SB), NOSPLIT, $0-64
	MOVQ s+0(FP), DI
	MOVQ c+8(FP), SI
	MOVQ t+16(FP), R9
	MOVQ TokenTables_Flat(R9), R8
	MOVQ (TokenTables_Short+0)(R9), R10
	MOVQ (TokenTables_Short+8)(R9), R11
	MOVQ (TokenTables_Short+16)(R9), R12
	MOVQ (TokenTables_Short+24)(R9), R13
	VPBROADCASTQ wideConst<>+24(SB), Y9
	XORL BX, BX // index of the first of the eight
	XORL DX, DX // rows not written

eight:
	// The symbol of the differing lanes, in the context of the lanes that moved.
	VMOVQ wideConst<>+0(SB), X2
	VMOVQ Batch_Usual(DI)(BX*1), X0
	VMOVQ Column_Differ(SI)(BX*1), X1
	VPSHUFB X2, X0, X0
	VPSHUFB X2, X1, X1
	VPMOVZXBD X0, Y0
	VPMOVZXBD X1, Y1
	VPSRLD $const_Lanes, Y1, Y1
	VPBROADCASTD known+40(FP), Y2
	VPAND  Y2, Y1, Y1
	VPBROADCASTD context+32(FP), Y2
	VPADDD Y2, Y1, Y1
	VMOVQ  lanes+24(FP), X2
	VPSLLD X2, Y1, Y1
	VPCMPEQD Y3, Y3, Y3
	VPSLLD X2, Y3, Y2
	VPANDN Y0, Y2, Y0 // only lanes that exist
	VPADDD Y0, Y1, Y1
	VPXOR  Y14, Y14, Y14
	VPCMPGTD Y14, Y0, Y15
	VMOVDQA Y15, Y3
	VPGATHERDD Y3, (R8)(Y1*4), Y14
	VPSLLQ $48, Y14, Y13
	VPSRLQ $48, Y13, Y13
	VPSLLQ $32, Y14, Y11
	VPSRLQ $48, Y11, Y11
	VPSLLQ $16, Y14, Y12
	VPSRLQ $48, Y12, Y12
	VPSRLQ $48, Y14, Y10

	// From the tokens of each entity to the tokens of each lane, in Y0 to Y3.
	MOVQ BX, AX
	SHLQ $4, AX
	LEAQ Batch_Token(DI)(AX*1), AX
	VMOVDQU (AX), X0
	VINSERTI128 $1, 32(AX), Y0, Y0
	VMOVDQU 64(AX), X1
	VINSERTI128 $1, 96(AX), Y1, Y1
	VMOVDQU 16(AX), X2
	VINSERTI128 $1, 48(AX), Y2, Y2
	VMOVDQU 80(AX), X3
	VINSERTI128 $1, 112(AX), Y3, Y3
	VPUNPCKLDQ Y1, Y0, Y4
	VPUNPCKLDQ Y3, Y2, Y5
	VPUNPCKHDQ Y1, Y0, Y6
	VPUNPCKHDQ Y3, Y2, Y7
	VPUNPCKLQDQ Y5, Y4, Y0
	VPUNPCKHQDQ Y5, Y4, Y1
	VPUNPCKLQDQ Y7, Y6, Y2
	VPUNPCKHQDQ Y7, Y6, Y3
	LANE(0, R10, Y0, lane1)

lane1:
	LANE(1, R11, Y1, lane2)

lane2:
	LANE(2, R12, Y2, lane3)

lane3:
	LANE(3, R13, Y3, whole)

whole:
	// Y4 masks entities with a token that is not cached, Y5 and Y6 those with more than 64 bits.
	VPXOR    Y7, Y7, Y7
	VPCMPEQD Y7, Y14, Y4
	VPAND    Y15, Y4, Y4
	VPBROADCASTQ wideConst<>+40(SB), Y8
	VPCMPGTQ Y8, Y11, Y5
	VPCMPGTQ Y8, Y10, Y6
	VPOR  Y5, Y6, Y7
	VPOR  Y4, Y7, Y7
	VPTEST Y7, Y7
	JNE   leave

append:
	// Append the new bits to the old ones, and add their numbers.
	VMOVDQU Batch_Acc(DI)(BX*8), Y0
	VMOVDQU Batch_Have(DI)(BX*8), Y1
	VMOVDQU (Batch_Acc+32)(DI)(BX*8), Y2
	VMOVDQU (Batch_Have+32)(DI)(BX*8), Y3
	VPSLLVQ Y1, Y13, Y4
	VPOR    Y4, Y0, Y0
	VPSLLVQ Y3, Y12, Y4
	VPOR    Y4, Y2, Y2
	VPADDQ  Y1, Y11, Y11
	VPADDQ  Y3, Y10, Y10
	VMOVDQU Y0, Batch_Acc(DI)(BX*8)
	VMOVDQU Y2, (Batch_Acc+32)(DI)(BX*8)
	VPBROADCASTQ wideConst<>+32(SB), Y7
	VPCMPGTQ Y7, Y11, Y5
	VPCMPGTQ Y7, Y10, Y6
	VPOR   Y5, Y6, Y7
	VPTEST Y7, Y7
	JNE    spill

counted:
	VMOVDQU Y11, Batch_Have(DI)(BX*8)
	VMOVDQU Y10, (Batch_Have+32)(DI)(BX*8)
	ADDQ $8, BX
	CMPQ BX, Batch_N(DI)
	JLT  eight
	MOVQ DX, left+56(FP)
	VZEROUPPER
	RET

leave:
	// Nothing is appended to these.
	VPSHUFD $0xA0, Y4, Y7
	VPOR    Y7, Y5, Y5
	VPSHUFD $0xF5, Y4, Y7
	VPOR    Y7, Y6, Y6
	VPANDN  Y13, Y5, Y13
	VPANDN  Y11, Y5, Y11
	VPANDN  Y12, Y6, Y12
	VPANDN  Y10, Y6, Y10
	VMOVMSKPD Y5, AX
	VMOVMSKPD Y6, CX
	SHLL $4, CX
	ORL  AX, CX
	SHLXL BX, CX, CX
	ORL  CX, DX
	JMP  append

spill:
	// Full accumulators, in Y5 and Y6, go to the bytes; the bits that did not fit start the next one.
	VPSUBQ  Y1, Y8, Y1
	VPSRLVQ Y1, Y13, Y1
	VPSUBQ  Y3, Y8, Y3
	VPSRLVQ Y3, Y12, Y3
	VPBLENDVB Y5, Y1, Y0, Y0
	VPBLENDVB Y6, Y3, Y2, Y2
	VMOVMSKPD Y5, AX
	VMOVMSKPD Y6, CX
	VPAND   Y8, Y5, Y5
	VPSUBQ  Y5, Y11, Y11
	VPAND   Y8, Y6, Y6
	VPSUBQ  Y6, Y10, Y10
	SHLL $4, CX
	ORL  AX, CX

full:
	BSFL CX, AX
	ADDQ BX, AX
	MOVQ Batch_Acc(DI)(AX*8), R15
	MOVQ Batch_At(DI)(AX*8), R14
	ADDQ $8, Batch_At(DI)(AX*8)
	ANDL $(const_MaxStreams*const_StreamBytes-8), R14
	MOVQ R15, Batch_Bytes(DI)(R14*1)
	LEAL -1(CX), AX
	ANDL AX, CX
	JNE  full
	VMOVDQU Y0, Batch_Acc(DI)(BX*8)
	VMOVDQU Y2, (Batch_Acc+32)(DI)(BX*8)
	JMP  counted

// func Begin(s *Batch, columns *Column, count int, flat *atomic.Uint32, context, known uint64) (done int)
//
// Eight entities at a time. It stops before eight entities if a symbol of one is not cached.
TEXT ·Begin(SB), NOSPLIT, $0-56
	MOVQ s+0(FP), DI
	MOVQ count+16(FP), R9
	MOVQ flat+24(FP), R8
	VMOVQ wideConst<>+0(SB), X15
	VPBROADCASTQ wideConst<>+48(SB), X14
	VPXOR X13, X13, X13
	VPBROADCASTD context+32(FP), Y12
	VPBROADCASTD known+40(FP), Y11
	VMOVQ count+16(FP), X10
	VMOVDQU wideConst<>+56(SB), Y9 // offsets of streams
	VPCMPEQD Y8, Y8, Y8
	VPSRLQ $48, Y8, Y8 // a code
	XORL BX, BX        // index of the first of the eight

eight:
	// Bytes with the masks of differing rows in X0, and of moved rows in X1, from the last column on.
	VPXOR X0, X0, X0
	VPXOR X1, X1, X1
	MOVQ  R9, CX
	LEAQ  -1(R9), AX
	IMULQ $Column__size, AX
	ADDQ  columns+8(FP), AX

column:
	VMOVQ    Column_Differ(AX)(BX*1), X2
	VPSRLW   $const_Lanes, X2, X3
	VPAND    X14, X2, X2
	VPAND    X14, X3, X3
	VPCMPGTB X13, X2, X2
	VPCMPGTB X13, X3, X3
	VPADDB   X0, X0, X0
	VPADDB   X1, X1, X1
	VPSUBB   X2, X0, X0
	VPSUBB   X3, X1, X1
	SUBQ $Column__size, AX
	DECQ CX
	JNE  column
	VMOVQ X0, R10

	// The symbol of the differing rows, in the context of the moved ones: the first four in the lower half of each 64 bits, the others above.
	VPSHUFB X15, X0, X0
	VPSHUFB X15, X1, X1
	VPMOVZXBD X0, Y0
	VPMOVZXBD X1, Y1
	VPAND  Y11, Y1, Y1
	VPADDD Y12, Y1, Y1
	VPSLLD X10, Y1, Y1
	VPADDD Y0, Y1, Y1
	VPCMPEQD Y2, Y2, Y2
	VPXOR  Y3, Y3, Y3
	VPGATHERDD Y2, (R8)(Y1*4), Y3
	VPCMPEQD Y13, Y3, Y2
	VPTEST Y2, Y2
	JNE    done
	MOVQ   R10, Batch_Differ(DI)(BX*1)
	VPAND  Y8, Y3, Y0
	VPSLLQ $32, Y3, Y1
	VPSRLQ $48, Y1, Y1
	VPSRLQ $32, Y3, Y2
	VPAND  Y8, Y2, Y2
	VPSRLQ $48, Y3, Y3
	VMOVDQU Y0, Batch_Acc(DI)(BX*8)
	VMOVDQU Y2, (Batch_Acc+32)(DI)(BX*8)
	VMOVDQU Y1, Batch_Have(DI)(BX*8)
	VMOVDQU Y3, (Batch_Have+32)(DI)(BX*8)
	VMOVDQU Y13, Batch_Miss(DI)(BX*8)
	VMOVDQU Y13, (Batch_Miss+32)(DI)(BX*8)
	VPBROADCASTQ wideConst<>+88(SB), Y4
	VMOVDQU Y9, Batch_At(DI)(BX*8)
	VPADDQ  Y4, Y9, Y9
	VMOVDQU Y9, (Batch_At+32)(DI)(BX*8)
	VPADDQ  Y4, Y9, Y9
	ADDQ $8, BX
	CMPQ BX, Batch_N(DI)
	JLT  eight

done:
	MOVQ BX, done+48(FP)
	VZEROUPPER
	RET
