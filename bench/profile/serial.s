# Long runs of one instruction each: multiplications, divisions, loads from the first level, additions.
function turn
mov $4000, %r11d
mov $1, %ecx
xor %eax, %eax
1:
12 x imul %rcx, %rax # multiply
xor %edx, %edx # =0
div %rcx # divide
xor %edx, %edx # =0
div %rcx # divide
xor %edx, %edx # =0
div %rcx # divide
6 x mov (%rdi,%rax), %rax # load
20 x add $0, %rax # add
20 x sub $0, %rax # subtract
dec %r11d
jnz 1b
ret
