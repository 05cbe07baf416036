# A chain of four floats at once: additions, divisions, a root, and what moves them within the vector.
function turn
mov $4000, %r11d
mov $1, %ecx
cvtsi2ss %ecx, %xmm1
shufps $0, %xmm1, %xmm1
movaps %xmm1, %xmm0
pxor %xmm2, %xmm2
1:
5 x addps %xmm2, %xmm0 # add
2 x divps %xmm1, %xmm0 # divide
6 x shufps $0x1b, %xmm0, %xmm0 # shuffle
sqrtps %xmm0, %xmm0 # root
2 x haddps %xmm2, %xmm0 # across
dec %r11d
jnz 1b
ret
