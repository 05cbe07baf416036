# Blocks that run in each turn, in each fourth and in each sixteenth, behind branches that are always guessed.
function turn
mov $4000, %r11d
mov $1, %ecx
xor %eax, %eax
1:
10 x imul %rcx, %rax # always
test $3, %r11b
jnz 2f
30 x imul %rcx, %rax # fourth
2:
test $15, %r11b
jnz 3f
xor %edx, %edx # =0
div %rcx # sixteenth
xor %edx, %edx # =0
div %rcx # sixteenth
xor %edx, %edx # =0
div %rcx # sixteenth
xor %edx, %edx # =0
div %rcx # sixteenth
xor %edx, %edx # =0
div %rcx # sixteenth
xor %edx, %edx # =0
div %rcx # sixteenth
3:
12 x add $0, %rax # last
dec %r11d
jnz 1b
ret
