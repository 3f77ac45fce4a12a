//go:build !purego

#include "textflag.h"

// func fetchPaged(pages *[]uint32, count, shift, size uintptr, indexes *uint32, n uintptr)
//
// A row may begin in one line and end in the next. Of a page that there is not it asks for what lies at the beginning of memory: nothing.
TEXT ·fetchPaged(SB), NOSPLIT, $0-48
	MOVQ pages+0(FP), DI
	MOVQ count+8(FP), R8
	MOVQ shift+16(FP), CX
	MOVQ size+24(FP), R9
	MOVQ indexes+32(FP), SI
	MOVQ n+40(FP), DX
	MOVL $1, R10
	SHLL CX, R10
	DECL R10
	TESTQ DX, DX
	JEQ  done

row:
	MOVL (SI), AX
	MOVL AX, BX
	SHRL CX, BX
	CMPQ BX, R8
	JAE  next
	LEAQ (BX)(BX*2), BX // a slice is three words
	MOVQ (DI)(BX*8), BX
	ANDL R10, AX
	IMULQ R9, AX
	ADDQ AX, BX
	PREFETCHT0 (BX)
	PREFETCHT0 -4(BX)(R9*1)

next:
	ADDQ $4, SI
	DECQ DX
	JNE  row

done:
	RET
