# A byte of a random list decides by a branch whether something else is loaded.
function turn
mov $4000, %r11d
mov 0(%rdi), %rcx
mov 24(%rdi), %rsi
mov 40(%rdi), %r8
mov $1, %r9d
xor %eax, %eax
1:
2 x mov (%rsi), %rsi # list
mov %rsi, %rdx # =0
shr $6, %rdx # =1
and $2047, %edx # =1
movzbl (%r8,%rdx), %eax # byte
mov %rax, %rdx # =0
and %rcx, %rdx # =1
add %rdx, %rsi # =1
cmp $128, %eax
jb 2f # pick
mov 8(%r8), %r10
add $1, %r10d
2:
6 x add %rcx, %rsi # long
2 x imul %r9, %rsi # short
dec %r11d
jnz 1b
ret
