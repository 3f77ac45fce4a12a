//go:build !purego && !netcode_plain

#include "go_asm.h"
#include "textflag.h"

// LOAD loads 56 bits into DX, which has SI of them, if that many bytes are left, else it stops. R13 is the next byte.
#define LOAD(full) \
	MOVQ  Bits_At(AX), R13      \
	LEAQ  8(R13), R15           \
	CMPQ  R15, (Bits_Buf+8)(AX) \
	JGT   stop                  \
	CMPQ  SI, $56               \
	JCC   full                  \
	MOVQ  Bits_Buf(AX), R15     \
	MOVQ  (R15)(R13*1), R15     \
	SHLXQ SI, R15, R15          \
	ORQ   R15, DX               \
	MOVL  $63, R15              \
	SUBQ  SI, R15               \
	SHRQ  $3, R15               \
	ADDQ  R15, R13              \
	ORQ   $56, SI               \
full:

// func ReadRows(q *Bits, group *ReadGroup, left uint, k, end int, lanes *uint32, stride int) (rows uint, at int)
//
// q does not change before a whole row was read, so that an unsupported row is read again from its first bit. Until then, at has the next byte.
TEXT ·ReadRows(SB), NOSPLIT, $0-72
	MOVQ q+0(FP), AX
	MOVQ left+16(FP), BX
	MOVQ Bits_Acc(AX), DX
	MOVQ Bits_N(AX), SI
	MOVQ Bits_Miss(AX), DI
	CMPQ BX, $16
	JEQ  which

row:
	TZCNTQ BX, CX
	MOVQ   BX, left+16(FP)
	MOVQ   group+8(FP), R8
	MOVQ   (R8)(CX*8), R8
	TESTQ  R8, R8
	JEQ    stop

	LOAD(full)
	MOVQ R13, at+64(FP)

	// The symbol of the changed lanes.
	MOVQ    k+24(FP), CX
	MOVWLZX ReadRow_Context(R8)(CX*2), R12
	MOVBQZX DX, R13
	ORQ     R13, R12
	MOVQ    ReadRow_Which(R8), R15
	MOVWLZX (R15)(R12*2), R12
	MOVQ    R12, R13
	ANDQ    $63, R13
	JEQ     stop
	MOVQ    R12, R11
	SHRQ    $6, R11
	JEQ     stop
	TESTQ   R11, ReadRow_Odd(R8)
	JNE     stop
	SUBQ    R13, SI
	JCS     stop
	SHRXQ   R12, DX, DX
	SHLQ    $5, CX
	LEAQ    (ReadRow_Expected+Expected_Lanes)(R8)(CX*1), R9
	MOVQ    ReadRow_At(R8), R10
	SHLQ    $2, R10
	ADDQ    lanes+40(FP), R10

lane:
	TZCNTQ  R11, CX
	MOVWLZX 4(R9)(CX*8), R12
	ADDQ    DI, R12
	MOVBQZX DX, R13
	ORQ     R13, R12
	MOVQ    ReadRow_Tokens(R8)(CX*8), R15
	MOVWLZX (R15)(R12*2), R12
	TESTL   $63, R12
	JEQ     long

token:
	MOVQ    R12, R13
	ANDQ    $63, R13                      // number of bits
	SUBQ    R13, SI
	JCS     stop
	MOVQ    R12, BX
	SHRQ    $6, BX
	ANDQ    $15, BX                       // of these the code
	SUBQ    BX, R13                       // and the raw ones
	SHRXQ   BX, DX, BX
	BZHIQ   R13, BX, BX
	MOVQ    R12, R15
	SHRQ    $10, R15
	ANDQ    $3, R15
	SHLXQ   R13, R15, R15
	ORQ     R15, BX                       // the magnitude
	SHRXQ   R12, DX, DX
	MOVWLZX 6(R9)(CX*8), R15
	XORQ    R12, R15
	SHLQ    $51, R15
	SARQ    $63, R15                      // the sign
	XORQ    R15, BX
	SUBQ    R15, BX
	MOVL    (R9)(CX*8), R15
	ADDQ    R15, BX
	MOVL    ReadRow_Most(R8)(CX*4), R15
	CMPQ    BX, R15
	JHI     stop
	CMPL    BX, (R10)(CX*4)
	JEQ     stop
	MOVL    BX, (R10)(CX*4)
	SHRQ    $13, R12
	SHLQ    $8, R12
	MOVQ    R12, DI
	BLSRQ   R11, R11
	JNE     lane

	// A rotation must be legal; far from a tie, integers decide.
	MOVQ  ReadRow_Turn(R8), R13
	TESTQ R13, R13
	JEQ   legal
	MOVQ  R13, R12
	IMULQ R13, R12
	ADDQ  R12, R12
	XORL  R11, R11                        // the largest magnitude
	MOVL  $1, CX

part:
	MOVL    (R10)(CX*4), BX
	ADDQ    BX, BX
	SUBQ    R13, BX
	MOVQ    BX, R15
	NEGQ    R15
	CMOVQLT BX, R15
	CMPQ    R15, R11
	CMOVQGT R15, R11
	IMULQ   BX, BX
	SUBQ    BX, R12
	INCQ    CX
	CMPQ    CX, $4
	JNE     part
	ADDQ    $3, R11
	IMULQ   R11, R11
	CMPQ    R11, R12
	JGT     stop

legal:
	MOVQ  at+64(FP), R13
	MOVQ  R13, Bits_At(AX)
	MOVQ  DX, Bits_Acc(AX)
	MOVQ  SI, Bits_N(AX)
	MOVQ  DI, Bits_Miss(AX)
	MOVQ  left+16(FP), BX
	BLSRQ BX, BX
	JNE   row

next:
	MOVQ k+24(FP), CX
	INCQ CX
	CMPQ CX, end+32(FP)
	JEQ  done
	MOVQ CX, k+24(FP)
	MOVQ stride+48(FP), R13
	SHLQ $2, R13
	ADDQ R13, lanes+40(FP)
	XORL DI, DI
	MOVQ DI, Bits_Miss(AX)
	MOVL $16, BX
	JMP  which

done:
	MOVQ $0, rows+56(FP)
	MOVQ k+24(FP), CX
	MOVQ CX, at+64(FP)
	RET

which:
	// The symbol of the changed rows.
	MOVQ    BX, left+16(FP)
	LOAD(ready)
	MOVQ    R13, Bits_At(AX)
	MOVQ    group+8(FP), R8
	MOVQ    k+24(FP), CX
	MOVWLZX ReadGroup_Context(R8)(CX*2), R12
	MOVBQZX DX, R13
	ORQ     R13, R12
	MOVQ    ReadGroup_Which(R8), R15
	MOVWLZX (R15)(R12*2), R12
	MOVQ    DX, Bits_Acc(AX)
	MOVQ    SI, Bits_N(AX)
	MOVQ    R12, R13
	ANDQ    $63, R13
	JEQ     stop
	SUBQ    R13, SI
	JCS     stop
	SHRXQ   R12, DX, DX
	MOVQ    DX, Bits_Acc(AX)
	MOVQ    SI, Bits_N(AX)
	MOVQ    R12, BX
	SHRQ    $6, BX
	JNE     row
	JMP     next

long:
	// For a code of more than eight bits, the entry names a table for the further bits.
	MOVQ    ReadRow_More(R8)(CX*8), R15
	ANDQ    $~63, R12
	JEQ     stop
	ADDQ    R12, R12
	MOVQ    DX, R13
	SHRQ    $8, R13
	ANDQ    $127, R13
	ORQ     R13, R12
	MOVWLZX (R15)(R12*2), R12
	TESTL   $63, R12
	JNE     token

stop:
	MOVQ left+16(FP), BX
	MOVQ BX, rows+56(FP)
	MOVQ k+24(FP), CX
	MOVQ CX, at+64(FP)
	RET
