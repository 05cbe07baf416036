# A chain that goes from integers to doubles and back.
function turn
mov $4000, %r11d
mov $1, %ecx
cvtsi2sd %rcx, %xmm1
pxor %xmm2, %xmm2
mov 0(%rdi), %rdx
mov $3, %eax
1:
cvtsi2sd %rax, %xmm0 # =7
4 x addsd %xmm2, %xmm0 # add
divsd %xmm1, %xmm0 # divide
cvttsd2si %xmm0, %rax # =7
4 x imul %rcx, %rax # multiply
5 x xor %rdx, %rax # xor
dec %r11d
jnz 1b
ret
