# Two methods that are called through pointers, one of doubles and one of integers, in one chain.
function blend
6 x mulsd %xmm1, %xmm0 # blend
ret
function mix
7 x imul %rcx, %rax # mix
ret
function turn
mov $4000, %r11d
mov $1, %ecx
cvtsi2sd %rcx, %xmm1
movapd %xmm1, %xmm0
pxor %xmm4, %xmm4
mov 0(%rdi), %rsi
mov 8(%rdi), %rax
lea blend(%rip), %r9
lea mix(%rip), %r10
1:
call *%r9
movq %xmm0, %rdx # =3
and %rsi, %rdx # =1
add %rdx, %rax # =1
call *%r10
5 x ror $3, %rax # between
movq %rax, %xmm2 # =3
pand %xmm4, %xmm2 # =1
por %xmm2, %xmm0 # =1
dec %r11d
jnz 1b
ret
