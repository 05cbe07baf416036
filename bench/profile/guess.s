# A branch on a random bit, which is guessed wrong half of the time, behind a chain.
function turn
mov $4000, %r11d
mov $1, %ecx
mov 8(%rdi), %r8
1:
mov %r8, %r9 # =0
shl $13, %r9 # =1
xor %r9, %r8 # =1
mov %r8, %r9 # =0
shr $7, %r9 # =1
xor %r9, %r8 # =1
mov %r8, %r9 # =0
shl $17, %r9 # =1
xor %r9, %r8 # =1
5 x imul %rcx, %r8 # multiply
test $1, %r8b
jz 2f # branch
add $1, %r10d
2:
dec %r11d
jnz 1b
mov %r8, 8(%rdi)
ret
