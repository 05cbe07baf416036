# One instruction of each kind in turn, so that each has neighbours of other lengths.
function turn
mov $4000, %r11d
mov $1, %ecx
xor %eax, %eax
1:
imul %rcx, %rax # multiply one
add $0, %rax # add one
mov (%rdi,%rax), %rax # load one
xor $0, %rax # xor one
popcnt %rax, %rax # =1
imul %rcx, %rax # multiply two
xor %edx, %edx # =0
div %rcx # divide
add $0, %rax # add two
mov (%rdi,%rax), %rax # load two
imul %rcx, %rax # multiply three
dec %r11d
jnz 1b
ret
