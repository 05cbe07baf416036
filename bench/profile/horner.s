# A polynomial of doubles by Horner's rule, whose result is the next argument.
function turn
mov $4000, %r11d
pxor %xmm0, %xmm0
cvtsi2sd %r11d, %xmm1
pxor %xmm3, %xmm3
1:
mulsd %xmm3, %xmm0 # multiply
addsd (%rdi), %xmm0 # add
mulsd %xmm3, %xmm0 # multiply
addsd (%rdi), %xmm0 # add
mulsd %xmm3, %xmm0 # multiply
addsd (%rdi), %xmm0 # add
mulsd %xmm3, %xmm0 # multiply
addsd (%rdi), %xmm0 # add
divsd %xmm1, %xmm0 # divide
dec %r11d
jnz 1b
ret
