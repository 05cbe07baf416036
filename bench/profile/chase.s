# Three lists, in the first, second and third level of the cache.
function turn
mov $4000, %r11d
mov 16(%rdi), %rsi
mov 24(%rdi), %r8
mov 32(%rdi), %r9
xor %eax, %eax
1:
add %rax, %rsi # =1
24 x mov (%rsi), %rsi # near
mov %rsi, %rax # =0
and $0, %rax # =1
add %rax, %r8 # =1
6 x mov (%r8), %r8 # middle
mov %r8, %rax # =0
and $0, %rax # =1
add %rax, %r9 # =1
mov (%r9), %r9 # far
mov %r9, %rax # =0
and $0, %rax # =1
dec %r11d
jnz 1b
mov %r8, 24(%rdi)
mov %r9, 32(%rdi)
ret
