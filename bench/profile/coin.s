# A branch on the sign of a random number, with work on both sides and behind it.
function turn
mov $4000, %r11d
movabs $6364136223846793005, %rcx
mov $12345, %r9d
mov $1, %r8d
mov 0(%rdi), %rdx
mov 8(%rdi), %rax
1:
imul %rcx, %rax # =3
add %r9, %rax # =1
imul %r8, %rax # =3
add %rdx, %rax # =1
test %rax, %rax
js 2f # coin
3 x xor %rdx, %rax # tails
jmp 3f
2:
3 x add %rdx, %rax # heads
3:
5 x imul %r8, %rax # multiply
dec %r11d
jnz 1b
mov %rax, 8(%rdi)
ret
