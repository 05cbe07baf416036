/* SPDX-License-Identifier: MIT */
/* What a sled does while it is on: some fifteen instructions that touch three lines of the thread's own. Any register
 * that a function may get an argument in, or hand a result back in, is as before. Only %r10 and %r11 are free there,
 * but for a tail call through %r11.
 *
 * A signal handler between two instructions here may cost one call its tag, never more. Depth and slots are bounded by
 * masks, and frames that have ended are dropped by address. */
#include "signals/xray/xray.h"

#include <stddef.h>

struct calls {
    uint64_t depth; /* 16 for each frame noted; the slot is depth modulo the ring */
    uint64_t epoch;
    struct frame {
        uint64_t at, tag; /* where its return address lies; function */
    } frames[XRAY_FRAMES];
};
CS_HIDDEN __thread struct calls xray_calls __attribute__((tls_model("initial-exec")));
uint64_t xray_epoch;
struct xray_functions *xray_functions;

_Static_assert(offsetof(struct calls, epoch) == 8 && offsetof(struct calls, frames) == 16,
               "the assembler's numbers");
_Static_assert(sizeof(struct frame) == 16 && XRAY_FRAMES == 256, "0xff0 below");

/* %r11 becomes the thread's frames, void if they are of another epoch; %rax is lost. */
#define FRAMES                                                                                               \
    "   mov     xray_calls@gottpoff(%rip), %r11\n"                                                           \
    "   mov     xray_epoch(%rip), %rax\n"                                                                    \
    "   cmp     %fs:8(%r11), %rax\n"                                                                         \
    "   je      1f\n"                                                                                        \
    "   mov     %rax, %fs:8(%r11)\n"                                                                         \
    "   movq    $0, %fs:(%r11)\n"                                                                            \
    "1:\n"

/* %rcx: where the return address lies. Leaves the tag of the innermost frame above it in %r10. */
#define RESTORE                                                                                              \
    FRAMES                                                                                                   \
    "   mov     %fs:(%r11), %rax\n"                                                                          \
    "2: test    %rax, %rax\n"                                                                                \
    "   jz      9f\n"                                                                                        \
    "   mov     %eax, %r10d\n"                                                                               \
    "   and     $0xff0, %r10d\n"                                                                             \
    "   add     %r11, %r10\n"                                                                                \
    "   cmp     %rcx, %fs:16(%r10)\n"                                                                        \
    "   ja      3f\n"                                                                                        \
    "   sub     $16, %rax\n"                                                                                 \
    "   jmp     2b\n"                                                                                        \
    "3: mov     %rax, %fs:(%r11)\n"                                                                          \
    "   mov     %fs:24(%r10), %r10\n"                                                                        \
    "4: mov     cs_line@gottpoff(%rip), %r11\n"                                                              \
    "   mov     %fs:(%r11), %r11\n"                                                                          \
    "   mov     %r10, (%r11)\n"

/* No frame is noted: ask for the caller's. */
#define ASK                                                                                                  \
    "9: mov     $0, %eax\n"                                                                                  \
    "   mov     %rax, %fs:(%r11)\n"                                                                          \
    "   push    %rdx\n"                                                                                      \
    "   push    %rcx\n"                                                                                      \
    "   push    %rsi\n"                                                                                      \
    "   push    %rdi\n"                                                                                      \
    "   push    %r8\n"                                                                                       \
    "   push    %r9\n"                                                                                       \
    "   push    %rbp\n"                                                                                      \
    "   mov     %rsp, %rbp\n"                                                                                \
    "   and     $-16, %rsp\n"                                                                                \
    "   mov     %rcx, %rdi\n"                                                                                \
    "   call    xray_caller\n"                                                                               \
    "   mov     %rax, %r10\n"                                                                                \
    "   mov     %rbp, %rsp\n"                                                                                \
    "   pop     %rbp\n"                                                                                      \
    "   pop     %r9\n"                                                                                       \
    "   pop     %r8\n"                                                                                       \
    "   pop     %rdi\n"                                                                                      \
    "   pop     %rsi\n"                                                                                      \
    "   pop     %rcx\n"                                                                                      \
    "   pop     %rdx\n"                                                                                      \
    "   jmp     4b\n"

__asm__(".pushsection .text\n"
        ".hidden xray_calls, xray_epoch, xray_caller, xray_entered, xray_left, xray_left_by_tail\n"
        ".globl xray_entered, xray_left, xray_left_by_tail\n"
        /* %r10: the function; on the stack: back to the sled, back to the caller */
        ".type xray_entered, @function\n"
        ".balign 64\n"
        "xray_entered:\n"
        "   endbr64\n"
        "   push    %rax\n" FRAMES "   mov     %fs:(%r11), %rax\n"
        "   add     $16, %rax\n"
        "   mov     %rax, %fs:(%r11)\n"
        "   and     $0xff0, %eax\n"
        "   add     %rax, %r11\n"
        "   lea     16(%rsp), %rax\n"
        "   mov     %rax, %fs:16(%r11)\n"
        "   mov     %r10, %fs:24(%r11)\n"
        "   pop     %rax\n"
        "   mov     cs_line@gottpoff(%rip), %r11\n"
        "   mov     %fs:(%r11), %r11\n"
        "   mov     %r10, (%r11)\n"
        "   ret\n"
        ".size xray_entered, . - xray_entered\n"
        /* on the stack: back to the caller */
        ".type xray_left, @function\n"
        ".balign 64\n"
        "xray_left:\n"
        "   endbr64\n"
        "   push    %rax\n"
        "   push    %rcx\n"
        "   lea     16(%rsp), %rcx\n" RESTORE "   pop     %rcx\n"
        "   pop     %rax\n"
        "   ret\n" ASK ".size xray_left, . - xray_left\n"
        /* on the stack: back to the sled, back to the caller */
        ".type xray_left_by_tail, @function\n"
        ".balign 64\n"
        "xray_left_by_tail:\n"
        "   endbr64\n"
        "   push    %r11\n"
        "   push    %rax\n"
        "   push    %rcx\n"
        "   lea     32(%rsp), %rcx\n" RESTORE "   pop     %rcx\n"
        "   pop     %rax\n"
        "   pop     %r11\n"
        "   ret\n" ASK ".size xray_left_by_tail, . - xray_left_by_tail\n"
        ".popsection\n");

/* The function that is returned to, by a return address at `at`; 0 = none with sleds. Noted as a frame that lasts as long as calls
 * from it come back to the same place. Called with vector registers live: so this room is compiled for general ones alone. */
CS_HIDDEN uint64_t xray_caller(const uintptr_t *at);
__attribute__((used)) uint64_t xray_caller(const uintptr_t *at)
{
    const struct xray_functions *functions = __atomic_load_n(&xray_functions, __ATOMIC_ACQUIRE);
    const uintptr_t back = *at;
    uint64_t tag = 0;
    if (functions) {
        size_t low = 0, high = functions->n; /* the last one that starts at or before `back` is low - 1 */
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (functions->by_start[middle].start <= back)
                low = middle + 1;
            else
                high = middle;
        }
        if (low > 0 && back < functions->by_start[low - 1].end)
            tag = functions->by_start[low - 1].start;
    }
    xray_calls.frames[1] = (struct frame){(uintptr_t)at + sizeof *at, tag};
    xray_calls.depth = sizeof(struct frame);
    return tag;
}
