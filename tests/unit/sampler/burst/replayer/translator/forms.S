/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Forms of instructions, which translate_test.c copies one behind the other. Each leaves rdi, which points to struct memory, and the
 * stack pointer as they were; its labels are its own. */
.intel_syntax noprefix
.hidden forms_begin, forms_end, form_tail, form_tail_end, stops_here, run_as_it_is, was_run
.globl forms_begin, forms_end, form_tail, form_tail_end, stops_here, run_as_it_is, was_run

.section .data.rel.ro, "aw"
.p2align 3
forms_begin:
.text

.macro form text
9:
\text
10:
.pushsection .data.rel.ro, "aw"
.quad 9b, 10b
.popsection
.endm

.irp op, add, sub, xor, and, or, adc, sbb, cmp, mov
form "\op rax, r9"
form "\op ebx, edx"
form "\op cx, r12w"
form "\op r8b, sil"
form "\op r13, rbp"
form "\op r10d, r11d"
form "\op rdx, 113"
form "\op r9d, -5000"
form "\op bl, 77"
form "\op r14w, -300"
form "\op rsi, [rdi + 80]"
form "\op [rdi + 129], r10"
form "and eax, 2047; \op r12d, [rdi + rax]"
.endr
form "test rax, r9"
form "test [rdi + 129], r10"
form "test cl, 9"
.irp op, inc, dec, neg, not
form "\op rax"
form "\op r9w"
form "\op bl"
form "\op dword ptr [rdi + 300]"
.endr
.irp op, shl, shr, sar, rol, ror, rcl, rcr
form "\op rbx, 3"
form "\op r8d, 1"
form "\op r11w, cl"
form "\op byte ptr [rdi + 7], 5"
.endr
.irp cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
form "set\cc r13b"
form "cmov\cc rsi, r14"
form "j\cc 1f; add rbx, 12345; not r9; 1:"
.endr
form "imul rax, rbx, 12347"
form "imul r9, rsi"
form "mul r8"
form "imul rcx"
form "xor edx, edx; or r9d, 1; div r9d"
form "lea rax, [rbx + rcx*8 - 77]"
form "lea r10d, [r8d + r9d*2]"
form "lea rdx, [rip + 1f]; mov rsi, [rdx]; jmp 2f; 1: .quad 0x123456789abcdef; 2:"
form "mov r12, [rip + 1f]; jmp 2f; 1: .quad -987654321; 2:"
form "and eax, 2047; mov r9, [rdi + rax]"
form "and ebx, 2047; mov [rdi + rbx], r13"
form "and r8d, 2047; movzx esi, byte ptr [rdi + r8 + 3]"
form "movsx rdx, word ptr [rdi + 511]"
form "movsxd r11, ebx"
form "bswap r9"
form "bsf rax, rbx"
form "bsr r10, rsi"
form "xor r12d, r12d; bsf rax, r12"
form "xor ecx, ecx; bsr r13, rcx"
form "bt rbx, 17"
form "bts r14, rcx"
form "xchg rax, r12"
form "xchg [rdi + 1000], rbx"
form "lock xadd [rdi + 640], rsi"
form "lock cmpxchg [rdi + 648], r9"
form "push r9; add rax, [rsp]; pop r13"
form "pushfq; add rbx, r8; popfq"
form "pushfq; pop r10"
form "lahf; add bl, cl; sahf"
form "stc"
form "clc"
form "cmc"
form "cdq"
form "cqo"
form "cwde"
form "push rbp; mov rbp, rsp; sub rsp, 64; mov [rbp - 24], rbx; mov rax, [rsp + 40]; leave"
form "call 1f; jmp 2f; 1: add rbx, rax; ret; 2:"
form "lea rax, [rip + 1f]; call rax; jmp 2f; 1: xor r9, r8; ret; 2:"
form "lea rsi, [rip + 1f]; jmp rsi; ud2; 1:"
form "lea rsi, [rip + 1f]; push rsi; ret; ud2; 1:"
form "mov ecx, 5; 1: lea r14, [r14 + rcx]; rol rbx, cl; loop 1b"
form "mov r8d, 9; 1: add rax, r8; dec r8d; jnz 1b"
form "and ecx, 1; jrcxz 1f; not rbx; 1:"
form "test rbx, 64; jz 1f; call 2f; jmp 1f; 2: neg rsi; ret; 1:"
form "push rdi; lea rdi, [rdi + 1200]; mov ecx, 37; rep stosb; pop rdi"
form "push rdi; lea rsi, [rdi + 99]; lea rdi, [rdi + 1500]; mov ecx, 60; rep movsb; pop rdi"
form "push rdi; lea rsi, [rdi + 99]; lea rdi, [rdi + 1500]; mov ecx, 60; repe cmpsb; pop rdi"
form "push rdi; mov ecx, 90; repne scasb; pop rdi"
form "movd xmm3, eax; paddd xmm4, xmm3; pshufd xmm3, xmm4, 0x1b; pmovmskb ebx, xmm3"
form "movdqu xmm1, [rdi + 33]; pxor xmm1, xmm5; movdqu [rdi + 170], xmm1"
form "cvtsi2sd xmm7, rbx; mulsd xmm7, xmm7; ucomisd xmm7, xmm2"
form "movq r9, xmm4"
form "mov rax, fs:[0]"

.section .data.rel.ro, "aw"
forms_end:
.text

/* Stores all registers, and goes to where `end` says. */
form_tail:
n = 0
.irp r, rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
mov [rdi + 4160 + 8 * n], \r
n = n + 1
.endr
pushfq
pop [rdi + 4288]
.irp x, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
movdqu [rdi + 4304 + 16 * \x], xmm\x
.endr
jmp [rdi + 4296]
form_tail_end:
stops_here:
syscall

/* run_as_it_is(registers and flags to begin with, vectors, code) */
run_as_it_is:
push rbx
push rbp
push r12
push r13
push r14
push r15
mov [rip + kept_stack], rsp
mov [rip + kept_code], rdx
fxrstor [rsi]
push [rdi + 128]
popfq
n = 15
.irp r, r15, r14, r13, r12, r11, r10, r9, r8
mov \r, [rdi + 8 * n]
n = n - 1
.endr
mov rsi, [rdi + 48]
mov rbp, [rdi + 40]
mov rsp, [rdi + 32]
mov rbx, [rdi + 24]
mov rdx, [rdi + 16]
mov rcx, [rdi + 8]
mov rax, [rdi]
mov rdi, [rdi + 56]
jmp [rip + kept_code]
was_run:
mov rsp, [rip + kept_stack]
cld
pop r15
pop r14
pop r13
pop r12
pop rbp
pop rbx
ret

.data
.p2align 3
kept_stack: .quad 0
kept_code: .quad 0
.section .note.GNU-stack, "", @progbits
