#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# count: random functions, in assembly and in C, give what they give alone, and each has exactly as many instructions as a stepper
# sees. CS_SEEDS: which (default "1 2").
set -u
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "x86-64 only"; exit 77; }
work=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
cat >make.py <<'P'
import random, sys
r = random.Random(int(sys.argv[1]))
FUNCTIONS, BLOCKS = 12, 9
Q = "rax rbx rcx rdx rsi rdi r8 r9 r10 r11 r12 r13".split()
D = "eax ebx ecx edx esi edi r8d r9d r10d r11d r12d r13d".split()
W = "ax bx cx dx si di r8w r9w r10w r11w r12w r13w".split()
B = "al bl cl dl sil dil r8b r9b r10b r11b r12b r13b".split()
H = "ah bh ch dh".split()
CC = "o no b ae e ne be a s ns p np l ge le g".split()
n_label = 0
def label():
    global n_label
    n_label += 1
    return f".L{n_label}"
def reg(kind): return "%" + r.choice(kind)
def memory(size=8): return r.choice((f"buf+{r.randrange(0, 1000)}(%rip)", f"{r.randrange(0, 1000)}(%r15)", f"{-8 * r.randrange(1, 15) if size == 8 else -r.randrange(8, 120)}(%rsp)"))
def operands(kind, size, letter):
    a = r.choice((reg(kind), f"${r.randrange(-100, 100)}", memory(size)))
    b = reg(kind) if "(" in a else r.choice((reg(kind), memory(size)))
    return f"{a}, {b}"
def arithmetic():
    kind, size, letter = r.choice(((Q, 8, "q"), (D, 4, "l"), (W, 2, "w"), (B, 1, "b")))
    return [f"{r.choice('add sub adc sbb and or xor cmp mov test'.split())}{letter} {operands(kind, size, letter)}".replace("test", "cmp")]
def straight():
    k = r.randrange(30)
    if k < 10: return arithmetic()
    if k == 10: return [f"{r.choice(('inc', 'dec', 'not', 'neg'))}{l} {x}" for x, l in [r.choice(((reg(Q), 'q'), (reg(D), 'l'), (reg(B), 'b'), (memory(4), 'l')))]]
    if k == 11: return [f"cmov{r.choice(CC)} {reg(Q)}, {reg(Q)}", f"set{r.choice(CC)} {reg(B)}"]
    if k == 12: return [f"{r.choice('shl shr sar rol ror rcl rcr'.split())} ${r.randrange(1, 31)}, {reg(Q)}", f"{r.choice(('shl', 'rcr'))} %cl, {reg(D)}", "cmp $9, %ebx"]
    if k == 13: return [f"push {reg(Q)}", *arithmetic_registers(), f"pop {reg(Q)}"]
    if k == 14: return ["pushfq", "pop %rax", "and $0x8d5, %rax", "mov %rax, -8(%rsp)"] # a stepper sees its own flag
    if k == 15: return [f"imul {reg(Q)}, {reg(Q)}", f"mul {reg(Q)}", f"imul $7, {reg(D)}, {reg(D)}", "cmp $9, %ebx"]
    if k == 16: return ["xor %edx, %edx", "mov $9, %ecx", f"div %{r.choice(('rcx', 'ecx'))}", "test %eax, %eax"] # some flags are undefined
    if k == 17: return [f"lea {r.randrange(0, 99)}({reg(Q)},{reg(Q)},4), {reg(Q)}", "lea buf(%rip), %rsi"]
    if k == 18: return [f"mov {reg(['ah', 'bh', 'ch', 'dh'])}, %al", f"add %{r.choice(H)}, %{r.choice(H)}", f"movzbl %{r.choice(H)}, %ecx"]
    if k == 19: return [f"mov ${r.randrange(0, 40)}, %ecx", "lea buf(%rip), %rdi", "lea buf+500(%rip), %rsi", "cld", r.choice(("rep movsb", "rep stosb", "repne scasb", "repe cmpsb", "rep movsw", "movsb", "stosq"))]
    if k == 20: return [f"lock {r.choice(('addl', 'xorl'))} {reg(D)}, {r.randrange(0, 200) * 4}(%r15)", f"lock xadd {reg(Q)}, 64(%r15)", f"xchg {reg(Q)}, 128(%r15)", "lock cmpxchg %rdx, 8(%r15)"]
    if k == 21: return [f"movq {reg(Q)}, %xmm{r.randrange(4)}", f"paddd %xmm{r.randrange(4)}, %xmm{r.randrange(4)}", f"movdqu 16(%r15), %xmm{r.randrange(4)}", f"pshufd $0x1b, %xmm{r.randrange(4)}, %xmm{r.randrange(4)}", f"movq %xmm{r.randrange(4)}, {reg(Q)}"]
    if k == 22: return ["fld1", "fldpi", "fmulp", "fstpl 256(%r15)", "cvtsi2sd %rax, %xmm3", "addsd 256(%r15), %xmm3"]
    if k == 23: return ["lahf", "sahf", r.choice(("clc", "stc", "cmc")), f"adc $0, {reg(Q)}"]
    if k == 24: return [f"bt ${r.randrange(0, 31)}, {reg(Q)}", f"bswap {reg(Q)}", f"movsx {reg(B)}, {reg(D)}", f"xchg %rbx, %rax", "cqto", "cwtl", "cmp $9, %ebx"]
    if k == 25: return ["nopw 0(%rax,%rax,1)", "endbr64", "pause", "lfence"]
    if k == 26: # system calls change rcx and r11, whose flags a stepper sees
        return ["mov $102, %eax", "syscall", "xor %ecx, %ecx", "xor %r11d, %r11d"]
    if k == 27: return [".byte 0xeb, 0xff, 0xc0"] # jmp into its own last byte: inc %eax
    if k == 28: # through addresses on the stack, and a call that the next instruction answers
        a, b, c = label(), label(), label()
        return [f"lea {a}(%rip), %rdx", "sub $128, %rsp", "push %rdx", "ret", "ud2", f"{a}:", f"call {b}", f"jmp {c}", f"{b}:", "inc %rbx", "ret", f"{c}:", "add $128, %rsp", "xor %edx, %edx"]
    a, b = label(), label()
    return ["sub $128, %rsp", f"push ${r.randrange(100)}", f"call {a}", f"jmp {b}", f"{a}:", "mov 8(%rsp), %rbx", "ret $8", f"{b}:", "add $128, %rsp"]
def arithmetic_registers(): return [f"{r.choice('add sub adc xor mov'.split())} {reg(Q)}, {reg(Q)}"]
def function(name):
    out = [f".globl {name}", f".type {name}, @function", f"{name}:", "push %rbx", "push %rbp", "push %r12", "push %r13", "push %r14", "push %r15",
           "lea buf(%rip), %r15", "mov $12, %r14d", "mov %rdi, %rax", "mov %rdi, %rbx"]
    out += [f"mov %rdi, %{q}" for q in Q if q not in ("rax", "rbx", "rdi")] + ["xor %r12d, %r12d"] * 2
    out += [f"movq %rdi, %xmm{i}" for i in range(4)] + [f"mov %rdi, {-8 * i}(%rsp)" for i in range(1, 17)]
    begins = [label() for _ in range(BLOCKS + 1)]
    middles = [label() for _ in range(BLOCKS)]
    for i in range(BLOCKS):
        later = lambda: r.choice(begins[i + 1:] + middles[i + 1:])
        out.append(begins[i] + ":")
        for _ in range(r.randrange(1, 6)): out += straight()
        out.append(middles[i] + ":")
        for _ in range(r.randrange(0, 4)): out += straight()
        k = r.randrange(9)
        if k < 3: out.append(f"j{r.choice(CC)} {later()}")
        elif k == 3: out.append(f"jmp {later()}")
        elif k == 4: out += ["sub $1, %r14", f"jg {r.choice(begins[:i + 1] + middles[:i + 1])}"]
        elif k == 5: out += ["mov $3, %ecx", f"and %eax, %ecx", f"{r.choice(('jrcxz', 'loop', 'loopne'))} 1f", "jmp 2f", f"1: jmp {later()}", "2:"]
        elif k == 6: # by a table
            table = label()
            out += ["mov %rax, %rdx", "and $3, %edx", f"lea {table}(%rip), %rcx", "movslq (%rcx,%rdx,4), %rdx", "add %rcx, %rdx", r.choice(("jmp *%rdx", "notrack jmp *%rdx")),
                    ".section .rodata", ".balign 4", f"{table}:", *[f".long {later()} - {table}" for _ in range(4)], ".text"]
        elif k == 7: # a leaf, through a pointer and by name
            out += ["sub $136, %rsp", "lea leaf(%rip), %rdx", r.choice(("call *%rdx", "call leaf", "mov %rdx, 600(%r15)\ncall *600(%r15)")), "add $136, %rsp", "xor %edx, %edx"]
        else: # a block that is its own successor
            own = label()
            out += [f"mov ${r.randrange(1, 9)}, %ecx", f"{own}:", "adc %rcx, %rbx", "dec %ecx", f"jnz {own}"]
    out += [begins[BLOCKS] + ":"] + [f"{o} %{q}, %rax" for q in Q[1:] for o in ("rol $7, %rax\nxor",)]
    out += [f"movq %xmm{i}, %rdx\nxor %rdx, %rax" for i in range(4)]
    out += ["pop %r15", "pop %r14", "pop %r13", "pop %r12", "pop %rbp", "pop %rbx", "ret", f".size {name}, . - {name}"]
    return out
lines = [".text", ".globl leaf", ".type leaf, @function", "leaf: adc $3, %rbx", "jc 1f", "not %rbx", "1: ret", ".size leaf, . - leaf"]
for i in range(FUNCTIONS): lines += function(f"f{i}")
lines += [".bss", ".balign 64", "buf: .skip 4096", '.section .note.GNU-stack,"",@progbits']
open("f.s", "w").write("\n".join(lines) + "\n")
# C: what compilers make of switches, structures, floating point, recursion, function pointers, and libc's calls
def expression(depth):
    if depth == 0: return r.choice(("a", "b", "i", "x[i & 15]", str(r.randrange(1, 99))))
    return f"({expression(depth - 1)} {r.choice(('+', '-', '*', '^', '|', '&', '<', '>> 3 ^', '<< 2 ^', '%7u+'))} {expression(depth - 1)})"
cases = "".join(f"        case {i}: a = {expression(2)}; {r.choice(('break', 'b++; break', 'continue', '/* on */'))};\n" for i in range(12))
open("m.c", "w").write(f"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef unsigned long u;
{"".join(f"u f{i}(u);" for i in range(FUNCTIONS))}
static u (*const all[])(u) = {{{", ".join(f"f{i}" for i in range(FUNCTIONS))}}};
struct s {{ u x[6]; double d; }};
__attribute__((noinline)) u switches(u a, u b) {{ u x[16] = {{1, 2, 3}}; for (u i = 0; i < 60; i++) {{ x[i & 15] ^= a;
    switch ((a ^ i) % 12) {{
{cases}    }} }} return a + b; }}
__attribute__((noinline)) struct s by_value(struct s v, u n) {{ v.x[n % 6] += n; v.d = v.d * 1.5 + (double)n; if (n) return by_value(v, n - 1); return v; }}
__attribute__((noinline)) double floats(const double *v, int n) {{ double t = 0; for (int i = 0; i < n; i++) t = t * 0.5 + v[i] / (1 + t * t); return t; }}
static int order(const void *a, const void *b) {{ u x = *(const u *)a, y = *(const u *)b; return (x > y) - (x < y); }}
int main(void)
{{
    u sum = 0, list[40];
    double v[50];
    for (u i = 0; i < 8; i++) for (unsigned k = 0; k < sizeof all / sizeof *all; k++) sum = sum * 31 + all[k](i * 0x9e3779b97f4a7c15ul);
    for (u i = 0; i < 40; i++) list[i] = switches(sum + i, i), v[i] = (double)(list[i] % 1000);
    qsort(list, 40, sizeof *list, order);
    struct s one = {{{{sum}}, 1}};
    one = by_value(one, 20);
    char text[64];
    snprintf(text, sizeof text, "%lx %.9g %.9g %lu", sum, floats(v, 40), one.d, list[7] ^ one.x[3]);
    puts(text);
    return (int)(strlen(text) & 63);
}}
""")
P
cat >compare.py <<'P'
# What count says of our functions against what the stepper saw between their symbols.
import json, re, subprocess, sys
tool, name = sys.argv[1], sys.argv[2]
symbols = []
for line in subprocess.run(["nm", "-S", name], capture_output=True, text=True).stdout.splitlines():
    f = line.split()
    if len(f) == 4 and re.fullmatch("f[0-9]+|leaf|main|switches|by_value|floats|order", f[3]):
        symbols.append((int(f[0], 16), int(f[1], 16), f[3]))
loads = subprocess.run(["readelf", "-lW", name], capture_output=True, text=True).stdout
base = min(int(line.split()[2], 16) for line in loads.splitlines() if line.split()[:1] == ["LOAD"])
seen = {}
for line in open("steps"):
    at, n = line.split()
    seen[int(at, 16) + base] = int(n)
rows = json.loads(subprocess.run([tool, "prof", "--store", "store", "--event", "instructions", "--json", "--top", "0"], capture_output=True, text=True).stdout)["rows"]
said = {}
for row in rows:
    if row["image_name"] == name:
        said[row["procedure"]] = said.get(row["procedure"], 0) + row["samples"]["instructions"]
bad, compared = 0, 0
for at, size, symbol in symbols:
    stepped = sum(n for a, n in seen.items() if at <= a < at + size)
    if stepped or symbol in said:
        compared += 1
        if said.get(symbol, 0) != stepped:
            bad += 1
            print(f"{symbol}: {said.get(symbol, 0)} counted, {stepped} stepped")
print(f"{compared} functions compared")
sys.exit(bad > 0 or compared < 14)
P
bad=0
for seed in ${CS_SEEDS:-1 2}; do
    python3 make.py "$seed" || exit 1
    case $((seed % 6)) in
    0) flags="-O0 -no-pie" ;; 1) flags="-O2" ;; 2) flags="-O3 -march=native -fcf-protection" ;; 3) flags="-O1 -static" ;; 4) flags="-Os -static-pie" ;; *) flags="-O2 -no-pie -fno-plt -z now" ;;
    esac
    gcc -g -w $flags -o random m.c f.s -lm || { echo "not ok: seed $seed doesn't compile"; exit 1; }
    env -i setarch -R ./random >alone # the same stack for all three
    alone=$?
    env -i "$BUILD/tests/programs/step_count" steps ./random >stepped
    [ $? = $alone ] && cmp -s alone stepped || { echo "not ok: seed $seed: the stepper changed the program: $(cat alone stepped)"; exit 1; }
    rm -rf store
    env -i "$CYCLESCOPE" count -o store --json -- ./random >said 2>err
    grep -q "\"exit_code\": $alone," said && [ "$(head -n 1 said)" = "$(cat alone)" ] && python3 compare.py "$CYCLESCOPE" random >told ||
        { echo "not ok: seed $seed, $flags: $(cat alone) $alone; $(head -c 600 said) $(cat err) $(head -n 20 told)"; bad=1; }
done
[ $bad = 0 ] && echo ok
exit $bad
