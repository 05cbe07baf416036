# A checksum by table: each byte's entry is looked up by the value so far.
function turn
mov 40(%rdi), %rdx
lea 4000(%rdx), %rcx
mov 16(%rdi), %rsi
xor %eax, %eax
1:
movzbl (%rdx), %r8d
inc %rdx
and $1, %r8d
xor %r8, %rax # xor
and $504, %eax # mask
mov 8(%rsi,%rax), %rax # look up
ror $5, %rax # rotate
cmp %rcx, %rdx
jne 1b
ret
