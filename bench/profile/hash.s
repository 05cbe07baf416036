# hash = (hash ^ bytes[i]) * prime, as compilers write it.
function turn
mov 40(%rdi), %rdx
lea 4000(%rdx), %rcx
mov 8(%rdi), %rax
movabs $1099511628211, %rsi
1:
movzbl (%rdx), %r8d
add $1, %rdx
xor %r8, %rax # xor
imul %rsi, %rax # multiply
cmp %rcx, %rdx
jne 1b
mov %rax, 8(%rdi)
ret
