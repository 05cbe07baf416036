# Additions that wait for nothing but the width of the core: each takes as long as the others.
function turn
mov $4000, %r11d
1:
add $1, %rax # all
add $1, %rcx # all
add $1, %rdx # all
add $1, %rsi # all
add $1, %r8 # all
add $1, %r9 # all
add $1, %rax # all
add $1, %rcx # all
add $1, %rdx # all
add $1, %rsi # all
add $1, %r8 # all
add $1, %r9 # all
add $1, %rax # all
add $1, %rcx # all
add $1, %rdx # all
add $1, %rsi # all
add $1, %r8 # all
add $1, %r9 # all
add $1, %rax # all
add $1, %rcx # all
add $1, %rdx # all
add $1, %rsi # all
add $1, %r8 # all
add $1, %r9 # all
add $1, %rax # all
add $1, %rcx # all
add $1, %rdx # all
add $1, %rsi # all
add $1, %r8 # all
add $1, %r9 # all
add $1, %rax # all
add $1, %rcx # all
add $1, %rdx # all
add $1, %rsi # all
add $1, %r8 # all
add $1, %r9 # all
add $1, %rax # all
add $1, %rcx # all
add $1, %rdx # all
add $1, %rsi # all
add $1, %r8 # all
add $1, %r9 # all
add $1, %rax # all
add $1, %rcx # all
add $1, %rdx # all
add $1, %rsi # all
add $1, %r8 # all
add $1, %r9 # all
dec %r11d
jnz 1b
ret
