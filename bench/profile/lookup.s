# A chain through three tables: bytes by index in L1, a list in L2, and the index that the next bytes begin with.
function turn
mov $4000, %r11d
mov 0(%rdi), %rcx
mov 40(%rdi), %r8
mov 24(%rdi), %rsi
xor %eax, %eax
1:
6 x movzbl (%r8,%rax), %eax # bytes
and %rcx, %rax # =1
add %rax, %rsi # =1
2 x mov (%rsi), %rsi # list
mov %rsi, %rdx # =0
and %rcx, %rdx # =1
3 x lea 5(%rdx,%rdx,4), %edx # index
movzbl %dl, %eax # =1
dec %r11d
jnz 1b
ret
