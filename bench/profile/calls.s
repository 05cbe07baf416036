# Two functions that are called in each turn, and work between the calls.
function multiply
14 x imul %rcx, %rax # multiply
ret
function divide
xor %edx, %edx # =0
div %rcx # divide
xor %edx, %edx # =0
div %rcx # divide
ret
function turn
mov $4000, %r11d
mov $1, %ecx
xor %eax, %eax
1:
call multiply
10 x add $0, %rax # between
call divide
3 x mov (%rdi,%rax), %rax # load
dec %r11d
jnz 1b
ret
