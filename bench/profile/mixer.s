# The end of a hash: shifts, exclusive ors and multiplications in turn.
function turn
mov $4000, %r11d
mov 8(%rdi), %rax
movabs $0xff51afd7ed558ccd, %rcx
movabs $0xc4ceb9fe1a85ec53, %rdx
1:
mov %rax, %r8 # =0
shr $33, %r8 # =1
xor %r8, %rax # =1
imul %rcx, %rax # first
mov %rax, %r8 # =0
shr $29, %r8 # =1
xor %r8, %rax # =1
imul %rdx, %rax # second
rol $7, %rax # rotate
bswap %rax # swap
dec %r11d
jnz 1b
mov %rax, 8(%rdi)
ret
