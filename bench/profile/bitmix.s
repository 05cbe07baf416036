# A chain of integer operations of one to four cycles, as hash functions and bit boards have them.
function turn
mov $4000, %r11d
movabs $0x9E3779B97F4A7C15, %rcx
mov 8(%rdi), %rax
mov $-1, %r9
1:
4 x imul %rcx, %rax # multiply
6 x rol $7, %rax # rotate
2 x shld $5, %rcx, %rax # shift
3 x pext %r9, %rax, %rax # extract
4 x adc $0, %rax # carry
dec %r11d
jnz 1b
mov %rax, 8(%rdi)
ret
