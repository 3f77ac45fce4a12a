//go:build !purego && !netcode_plain

#include "go_asm.h"
#include "textflag.h"

// Masks of up to four lanes, for VPMASKMOVD.
DATA takeLanes<>+0(SB)/8, $0x0000000100000000
DATA takeLanes<>+8(SB)/8, $0x0000000300000002
GLOBL takeLanes<>(SB), RODATA|NOPTR, $16

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
	VPCMPGTD takeLanes<>(SB), X0, X7 // lanes of a row
	MOVQ Column_Lanes(DI), R9
	SHLQ $2, R9 // distance of rows, in bytes
	MOVQ RowSlice_Now(DX), R10
	MOVQ RowSlice_Base(DX), BX
	MOVQ RowSlice_Before(DX), CX
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
	IMULQ   R9, R15
	VPMASKMOVD (BX)(R15*1), X7, X1
	BZHIQ   AX, R13, R15
	POPCNTQ R15, R15
	IMULQ   R9, R15
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
	SHLQ $2, R9
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
	IMULQ   R9, R14
	ADDQ    BX, R14
	PREFETCHT0 (R14)
	PREFETCHT0 -4(R14)(R9*1)
	BZHIQ   AX, R13, R14
	POPCNTQ R14, R14
	IMULQ   R9, R14
	ADDQ    CX, R14
	PREFETCHT0 (R14)
	PREFETCHT0 -4(R14)(R9*1)
	IMULQ   R9, AX
	ADDQ    DI, AX
	PREFETCHT0 (AX)
	PREFETCHT0 -4(AX)(R9*1)
	INCQ    R8

next:
	CMPQ R8, R10
	JLT  ask
	RET
