# Two branches a turn on bits of a random number, one of which fuses with nothing, with work before, between and behind.
function turn
mov $4000, %r11d
movabs $6364136223846793005, %rcx
mov $77, %r9d
mov $1, %r8d
mov 0(%rdi), %rdx
mov 8(%rdi), %rax
1:
imul %rcx, %rax # =3
add %r9, %rax # =1
bt $61, %rax
jc 2f # first
add $1, %r10d
2:
4 x add %rdx, %rax # middle
2 x imul %r8, %rax # low
test %rax, %rax
jns 3f # second
2 x add $3, %r10d
3:
5 x xor %rdx, %rax # high
3 x imul %r8, %rax # behind
dec %r11d
jnz 1b
mov %rax, 8(%rdi)
ret
