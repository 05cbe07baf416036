#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# count: instructions of functions that were written in assembly are counted exactly, whatever threads, children, signals and jumps
# they are run by; the program does what it does alone; valgrind, where it is, counts the same. What can't be counted has a sentence.
set -u
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "x86-64 only"; exit 77; }
work=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
fail() { echo "not ok: $*"; exit 1; }
count() { rm -rf store; "$CYCLESCOPE" count -o store --json -- "$@" >said 2>err; code=$?; }
of() { "$CYCLESCOPE" prof --store store --event instructions --json -n 0 | python3 -c '
import json, sys
print(sum(r["samples"]["instructions"] for r in json.load(sys.stdin)["rows"] if r["procedure"] == sys.argv[1]))' "$1"; }

cat >p.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
/* 3 + 2 * turns instructions, by a flag that lives across blocks: the carry counts down. */
unsigned long turn(unsigned long turns);
__asm__(".globl turn\n.type turn, @function\nturn:\n mov %rdi, %rcx\n xor %eax, %eax\n1: dec %rcx\n jnz 1b\n ret\n.size turn, . - turn\n");
/* Carry survives a jump, a call and an increment: 9 instructions, and 4 of carried. */
unsigned long carry(unsigned long x);
__asm__(".type carried, @function\ncarried: jmp 1f\n1: lea 1(%rdi), %rdi\n mov %rdi, %rdi\n ret\n.size carried, . - carried\n"
        ".globl carry\n.type carry, @function\ncarry: xor %eax, %eax\n mov $-1, %rdx\n add $1, %rdx\n call carried\n jmp 1f\n1: adc $0, %rax\n inc %rdx\n"
        " nop\n ret\n.size carry, . - carry\n");
static volatile sig_atomic_t ticks;
static sigjmp_buf back;
static void on_tick(int n) { (void)n; ticks++; turn(1000); carry(0); }
static void on_fault(int n) { (void)n; siglongjmp(back, 1); }
static void *thread(void *arg) { turn(100000); return arg; }
int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "plain")) { turn(5000000); return 7; }
    if (argc > 1 && !strcmp(argv[1], "carry")) {
        unsigned long sum = 0;
        for (int i = 0; i < 1000; i++) sum += carry((unsigned long)i);
        printf("%lu\n", sum);
    }
    if (argc > 1 && !strcmp(argv[1], "threads")) {
        pthread_t t[8];
        for (int i = 0; i < 8; i++) pthread_create(&t[i], NULL, thread, NULL);
        for (int i = 0; i < 8; i++) pthread_join(t[i], NULL);
    }
    if (argc > 1 && !strcmp(argv[1], "children")) {
        for (int i = 0; i < 4; i++) if (fork() == 0) { turn(100000); _exit(0); }
        while (wait(NULL) > 0) ;
        if (fork() == 0) execl("/proc/self/exe", "p", "plain", NULL);
        wait(NULL);
    }
    if (argc > 1 && !strcmp(argv[1], "signals")) {
        struct itimerval every = {{0, 1000}, {0, 1000}};
        pid_t self = getpid(), sender = fork(); /* of a signal without a handler, while we fork */
        if (sender == 0) while (kill(self, SIGWINCH) == 0) usleep(50);
        for (int i = 0; i < 100; i++) { pid_t child = fork(); if (child == 0) _exit(0); waitpid(child, NULL, 0); }
        kill(sender, SIGKILL);
        waitpid(sender, NULL, 0);
        signal(SIGALRM, on_tick);
        signal(SIGSEGV, on_fault);
        setitimer(ITIMER_REAL, &every, NULL);
        unsigned long sum = 0, calls = 0;
        while (ticks < 50) { sum += carry(0); calls++; turn(100); }
        signal(SIGALRM, SIG_IGN);
        for (volatile int i = 0; i < 3; i++) if (!sigsetjmp(back, 1)) *(volatile int *)8 = 0;
        printf("%d %d %lu %d\n", sum == calls, 1, calls, ticks);
    }
    if (argc > 1 && !strcmp(argv[1], "crash")) *(volatile int *)8 = 0;
    if (argc > 1 && !strcmp(argv[1], "sleep")) for (;;) pause();
    return 0;
}
C
gcc -O1 -g -pthread -o p p.c || fail "gcc"

count ./p plain
[ $code = 0 ] && grep -q '"exit_code": 7' said || fail "plain: exit $code: $(cat said err)"
[ "$(of turn)" = 10000003 ] || fail "a loop of 5,000,000 turns: $(of turn)"
count ./p carry
[ "$(head -1 said)" = 1000 ] || fail "the carry was lost: $(cat said err)"
[ "$(of carry)" = 9000 ] && [ "$(of carried)" = 4000 ] || fail "carry: $(of carry) and $(of carried)"
count ./p threads
[ "$(of turn)" = $((8 * 200003)) ] || fail "eight threads: $(of turn): $(cat said err)"
count ./p children
[ "$(of turn)" = $((4 * 200003 + 10000003)) ] || fail "five children: $(of turn): $(cat said err)"
grep -q '"processes": 7' said || fail "children: $(cat said)"
count ./p signals
[ $code = 0 ] && grep -q '^1 1 ' said || fail "signals: exit $code: $(cat said err)"
calls=$(head -1 said | cut -d' ' -f3)
ticks=$(head -1 said | cut -d' ' -f4)
[ "$(of carry)" = $((9 * (calls + ticks))) ] || fail "carry under signals: $(of carry) of $calls calls and $ticks in handlers"
[ "$(of turn)" = $((203 * calls + 2003 * ticks)) ] || fail "a loop under signals: $(of turn) of $calls calls and $ticks in handlers"
count ./p crash
[ $code = 0 ] && grep -q '"exit_code": 139' said || fail "a crash: $(cat said err)"

# The same twice; the store is whole; what programs write is what they write alone.
count ./p plain
one=$(grep -o '"instructions": [0-9]*' said)
count ./p plain
[ "$one" = "$(grep -o '"instructions": [0-9]*' said)" ] || fail "two runs differ: $one $(cat said)"
"$CYCLESCOPE" store verify store >/dev/null || fail "the store is damaged"
for command in "ls -l /bin" "bash -c 'for i in 1 2 3; do echo \$i | cat; done'" "sort /etc/passwd" "awk 'BEGIN { for (i = 0; i < 100000; i++) s += i; print s }'"; do
    eval "$command" >alone 2>&1
    rm -rf store
    eval "\"\$CYCLESCOPE\" count -o store -- $command" >counted 2>err || fail "$command: $(cat err)"
    grep -v -e 'instructions, ' -e '^next: ' counted | cmp - alone || fail "$command: $(cat counted)"
done
if command -v valgrind >/dev/null; then
    valgrind --tool=callgrind --callgrind-out-file=cg ./p plain >/dev/null 2>&1
    callgrind_annotate cg 2>/dev/null | tr -d , | grep -q '^ *10000003 .*turn' || fail "valgrind: $(callgrind_annotate cg | head -40)"
fi

# No verdicts on what can't be counted.
cat >jit.c <<'C'
#include <string.h>
#include <sys/mman.h>
int main(void)
{
    unsigned char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, "\xc3", 1);
    ((void (*)(void))code)();
}
C
gcc -o jit jit.c || fail "gcc"
refused() { # SENTENCE COMMAND...
    local sentence=$1
    shift
    count "$@"
    [ $code = 1 ] && grep -q "$sentence" err || fail "$*: exit $code: $(cat said err)"
}
refused "makes code as it runs" ./jit
refused "can't be run" ./missing
"$CYCLESCOPE" count --seconds 1 -o store -- ./p sleep >said 2>err
[ $? = 1 ] && grep -q "takes more than 1.0 s" err || fail "a limit: $(cat said err)"
echo ok
