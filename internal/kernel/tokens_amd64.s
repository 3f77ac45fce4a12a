//go:build !purego && !netcode_plain

#include "go_asm.h"
#include "textflag.h"

// Constants for all lanes of a register.
DATA wideOnes<>+0(SB)/4, $1
GLOBL wideOnes<>(SB), RODATA|NOPTR, $4
DATA wideShort<>+0(SB)/4, $256 // shortTokens
GLOBL wideShort<>(SB), RODATA|NOPTR, $4
DATA wideLargest<>+0(SB)/4, $2048 // 1<<(movementSteps-1)
GLOBL wideLargest<>(SB), RODATA|NOPTR, $4

// The largest movement in 32 bits, and a sign bit.
DATA wideFar<>+0(SB)/8, $2147483647.0
GLOBL wideFar<>(SB), RODATA|NOPTR, $8
DATA wideSign<>+0(SB)/8, $0x8000000000000000
GLOBL wideSign<>(SB), RODATA|NOPTR, $8

// Words: limits of a token's miss; the exponent of 1/2; contexts of a movement; the bits of lanes, for four rows.
DATA wideMisses<>+0(SB)/8, $0x0002000200020002
DATA wideMisses<>+8(SB)/8, $0x0002000200020002
DATA wideMisses<>+16(SB)/8, $0x0002000200020002
DATA wideMisses<>+24(SB)/8, $0x0002000200020002
DATA wideMisses<>+32(SB)/8, $0x001E001E001E001E
DATA wideMisses<>+40(SB)/8, $0x001E001E001E001E
DATA wideMisses<>+48(SB)/8, $0x001E001E001E001E
DATA wideMisses<>+56(SB)/8, $0x001E001E001E001E
GLOBL wideMisses<>(SB), RODATA|NOPTR, $64
DATA wideHalf<>+0(SB)/8, $0x007E007E007E007E
DATA wideHalf<>+8(SB)/8, $0x007E007E007E007E
DATA wideHalf<>+16(SB)/8, $0x007E007E007E007E
DATA wideHalf<>+24(SB)/8, $0x007E007E007E007E
GLOBL wideHalf<>(SB), RODATA|NOPTR, $32
DATA wideSteps<>+0(SB)/8, $0x0300030003000300 // misses * shortTokens
DATA wideSteps<>+8(SB)/8, $0x0300030003000300
DATA wideSteps<>+16(SB)/8, $0x0300030003000300
DATA wideSteps<>+24(SB)/8, $0x0300030003000300
GLOBL wideSteps<>(SB), RODATA|NOPTR, $32
DATA wideLanes<>+0(SB)/8, $0x0008000400020001
DATA wideLanes<>+8(SB)/8, $0x0008000400020001
DATA wideLanes<>+16(SB)/8, $0x0008000400020001
DATA wideLanes<>+24(SB)/8, $0x0008000400020001
GLOBL wideLanes<>(SB), RODATA|NOPTR, $32

// Four times the number of a lane, from 1: later lanes have larger numbers, whatever the lowest two bits.
DATA wideOrder<>+0(SB)/8, $0x0010000C00080004
DATA wideOrder<>+8(SB)/8, $0x0010000C00080004
DATA wideOrder<>+16(SB)/8, $0x0010000C00080004
DATA wideOrder<>+24(SB)/8, $0x0010000C00080004
GLOBL wideOrder<>(SB), RODATA|NOPTR, $32
DATA wideLow<>+0(SB)/8, $0x0003000300030003
DATA wideLow<>+8(SB)/8, $0x0003000300030003
DATA wideLow<>+16(SB)/8, $0x0003000300030003
DATA wideLow<>+24(SB)/8, $0x0003000300030003
GLOBL wideLow<>(SB), RODATA|NOPTR, $32

// Copies a byte of each of four rows to all words of that row. Rows are in the order 0, 2, 1, 3, the result of packing pairs.
DATA wideRows<>+0(SB)/8, $0x8000800080008000
DATA wideRows<>+8(SB)/8, $0x8002800280028002
DATA wideRows<>+16(SB)/8, $0x8001800180018001
DATA wideRows<>+24(SB)/8, $0x8003800380038003
GLOBL wideRows<>(SB), RODATA|NOPTR, $32

// TWO computes a double word per lane for two rows: the distance, counted as for short tokens (count), and the bit length of the movement
// plus 126, or 0 without a movement (size). Tokens sets Y11 to Y15.
#define TWO(at, count, size) \
	VMOVDQU   at(DX), Y0         \ // at T
	VMOVDQU   at(SI), count      \ // now
	VPSUBD    at(DI), Y0, size   \ // the movement, within 32 bits
	VPSUBD    Y0, count, count   \ // now - T
	VPSUBD    Y0, Y12, Y3        \ // room downwards
	VPSUBD    Y0, Y15, Y0        \ // room upwards
	VPMAXSD   Y3, size, Y3       \
	VPMINSD   Y0, Y3, Y3         \ // the movement, clamped to the bounds
	VPSUBD    Y3, count, count   \ // the distance
	VPOR      Y11, size, Y3      \
	VPSIGND   Y3, count, count   \ // with the sign of the movement
	VPADDD    count, count, Y3   \
	VPSRAD    $31, count, count  \
	VPXOR     Y3, count, count   \ // 0 -1 1 -2 2
	VPABSD    size, size         \
	VPMINUD   Y9, size, size     \
	VCVTDQ2PS size, size         \ // exact: 2048 at most
	VPSRLD    $23, size, size

// FAR stores the LongTokens of two rows: counts and contexts, interleaved lane by lane as two words of 8 bytes each.
#define FAR(at, count, context) \
	VPUNPCKLDQ   Y12, count, Y0    \
	VPUNPCKLDQ   Y12, context, Y3  \
	VPUNPCKLQDQ  Y3, Y0, Y9        \ // lane 0 of both rows
	VPUNPCKHQDQ  Y3, Y0, Y0        \ // lane 1
	VMOVDQU      X9, (at+0)(R11)   \
	VEXTRACTI128 $1, Y9, (at+64)(R11) \
	VMOVDQU      X0, (at+16)(R11)  \
	VEXTRACTI128 $1, Y0, (at+80)(R11) \
	VPUNPCKHDQ   Y12, count, Y0    \
	VPUNPCKHDQ   Y12, context, Y3  \
	VPUNPCKLQDQ  Y3, Y0, Y9        \ // lane 2
	VPUNPCKHQDQ  Y3, Y0, Y0        \ // lane 3
	VMOVDQU      X9, (at+32)(R11)  \
	VEXTRACTI128 $1, Y9, (at+96)(R11) \
	VMOVDQU      X0, (at+48)(R11)  \
	VEXTRACTI128 $1, Y0, (at+112)(R11)

// func Tokens(s *Batch, now, base, before *Rows, top *Tops, contexts, nothing uint16)
TEXT ·Tokens(SB), NOSPLIT, $0-44
	MOVQ s+0(FP), AX
	MOVQ now+8(FP), SI
	MOVQ base+16(FP), DX
	MOVQ before+24(FP), DI
	MOVQ top+32(FP), BX
	VMOVDQU      (BX), Y15                 // the largest value of each lane
	VPBROADCASTW contexts+40(FP), Y14      // words: the token of distance 0 in the first context
	VPBROADCASTW nothing+42(FP), Y13       // words: the empty token
	VPXOR        Y12, Y12, Y12
	VPBROADCASTD wideOnes<>(SB), Y11
	VPBROADCASTD wideShort<>(SB), Y10
	VPBROADCASTD wideLargest<>(SB), Y9
	MOVQ Batch_N(AX), CX
	LEAQ Batch_Token(AX), R8
	LEAQ Batch_Miss(AX), R9
	LEAQ Batch_Usual(AX), R10
	LEAQ Batch_Far(AX), R11

four:
	TWO(0, Y1, Y2)
	TWO(32, Y5, Y6)

	// Words of four rows: counts up to 256 (Y3), lanes not in Usual (Y4), and tokens without the miss of the previous lane (Y2).
	VPMINUD      Y10, Y1, Y3
	VPMINUD      Y10, Y5, Y4
	VPACKSSDW    Y4, Y3, Y3
	VPACKSSDW    Y6, Y2, Y2
	VPBROADCASTD (R10), Y4
	VPSHUFB      wideRows<>(SB), Y4, Y4
	VPAND        wideLanes<>(SB), Y4, Y4
	VPCMPEQW     Y12, Y4, Y4
	VPSUBUSW     wideHalf<>(SB), Y2, Y2
	VPMULLW      wideSteps<>(SB), Y2, Y2
	VPADDW       Y14, Y2, Y2
	VPADDW       Y3, Y2, Y2

	// The miss of each lane for later ones, 0 to 2, with its position above (Y7): the maximum over earlier lanes is that of the previous lane in Usual.
	VPCMPGTW wideMisses<>(SB), Y3, Y7
	VPCMPGTW wideMisses<>+32(SB), Y3, Y8
	VPADDW   Y8, Y7, Y7
	VMOVDQU  wideOrder<>(SB), Y8
	VPSUBW   Y7, Y8, Y7
	VPANDN   Y7, Y4, Y7
	VMOVDQU  (R9), Y8                     // the miss before the first lane
	VPERMQ   $0xD8, Y8, Y8
	VPSRLQ   $8, Y8, Y8
	VPSLLQ   $16, Y7, Y0
	VPOR     Y8, Y0, Y0
	VPSLLQ   $16, Y0, Y8
	VPMAXSW  Y8, Y0, Y0
	VPSLLQ   $32, Y0, Y8
	VPMAXSW  Y8, Y0, Y0                   // before each lane
	VPMAXSW  Y0, Y7, Y7                   // and after the last
	VPAND    wideLow<>(SB), Y0, Y0
	VPSLLW   $8, Y0, Y0
	VPADDW   Y0, Y2, Y2
	VPSRLQ   $48, Y7, Y7
	VPAND    wideLow<>(SB), Y7, Y7
	VPSLLQ   $8, Y7, Y7
	VPERMQ   $0xD8, Y7, Y7
	VMOVDQU  Y7, (R9)

	// The tokens that are not short, and the empty ones.
	VPSRLW   $8, Y3, Y8                   // 1 of 256
	VPANDN   Y8, Y4, Y8
	VPTEST   Y8, Y8
	JNE      far

write:
	VPADDW     Y8, Y13, Y0                // the empty token, or the one for long tokens
	VPCMPEQW   Y12, Y8, Y8
	VPANDN     Y8, Y4, Y4                 // short
	VPBLENDVB  Y4, Y2, Y0, Y2
	VPUNPCKLWD Y12, Y2, Y0
	VPUNPCKHWD Y12, Y2, Y2
	VMOVDQU    Y0, (R8)
	VMOVDQU    Y2, 32(R8)

	ADDQ $64, SI
	ADDQ $64, DX
	ADDQ $64, DI
	ADDQ $64, R8
	ADDQ $32, R9
	ADDQ $4, R10
	ADDQ $256, R11
	SUBQ $4, CX
	JGT  four
	VZEROUPPER
	RET

far:
	// Rare: store the distances and their contexts.
	VPSUBW       Y3, Y2, Y6
	VPSRLW       $8, Y6, Y6
	VPUNPCKLWD   Y12, Y6, Y7
	VPUNPCKHWD   Y12, Y6, Y6
	FAR(0, Y1, Y7)
	FAR(128, Y5, Y6)
	VPBROADCASTD wideLargest<>(SB), Y9
	JMP          write

// func Retrace(to, base, before *Rows, rows int, age, half, part float64)
//
// A movement times age, plus half of span, is little more than 2^47: see PART (quats_amd64.s) for why multiplying by 1/span is exact.
TEXT ·Retrace(SB), NOSPLIT, $0-56
	MOVQ to+0(FP), DI
	MOVQ base+8(FP), DX
	MOVQ before+16(FP), SI
	MOVQ rows+24(FP), CX
	VBROADCASTSD age+32(FP), Y15
	VBROADCASTSD half+40(FP), Y13
	VBROADCASTSD part+48(FP), Y14
	VBROADCASTSD wideFar<>(SB), Y12
	VBROADCASTSD wideSign<>(SB), Y11

row:
	VMOVDQU     (DX), X0
	VPSUBD      (SI), X0, X1              // four movements
	VCVTDQ2PD   X1, Y1
	VANDPD      Y11, Y1, Y2               // their signs
	VANDNPD     Y1, Y11, Y1               // and magnitudes
	VMULPD      Y15, Y1, Y1
	VADDPD      Y13, Y1, Y1
	VMULPD      Y14, Y1, Y1
	VROUNDPD    $3, Y1, Y1
	VMINPD      Y12, Y1, Y1               // clamp: the bounds are nearer anyway
	VORPD       Y2, Y1, Y1
	VCVTTPD2DQY Y1, X1
	VPSUBD      X1, X0, X0                // the row a tick before
	VMOVDQU     X0, (DI)
	ADDQ        $16, DX
	ADDQ        $16, SI
	ADDQ        $16, DI
	DECQ        CX
	JGT         row
	VZEROUPPER
	RET
