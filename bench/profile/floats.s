# A chain of additions, multiplications, divisions and roots of doubles.
function turn
mov $4000, %r11d
mov $1, %ecx
cvtsi2sd %rcx, %xmm0
cvtsi2sd %rcx, %xmm1
pxor %xmm2, %xmm2
1:
8 x addsd %xmm2, %xmm0 # add
8 x mulsd %xmm1, %xmm0 # multiply
2 x divsd %xmm1, %xmm0 # divide
4 x mulsd %xmm1, %xmm0 # multiply again
2 x sqrtsd %xmm0, %xmm0 # root
dec %r11d
jnz 1b
ret
