#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Random programs against the translator of bursts (sampler/burst/replayer/translator/translate.c): what it says they will do is compared,
block by block, with what single-stepping them natively does. A program is a walk for ever over random blocks: arithmetic of all
widths, flags, loads and stores anywhere in a buffer, strings, vectors, locks, calls, returns, indirect and conditional jumps.

Usage: BUILD=build tests/fuzz/translate_fuzz.py [SECONDS [SEED]]     exit 1 = they differ (the seed is printed), 77 = not here
"""
import json, os, platform, random, subprocess, sys, tempfile, time

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 20
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else None
BUILD = os.path.realpath(os.environ.get("BUILD", "build"))
DRIVER = os.path.join(BUILD, "tests/programs/burst_driver")
BLOCKS, LEAVES, BYTES = 40, 12, 1 << 16
NAMES = {64: "rax rbx rcx rdx rsi r8 r9 r10 r11 r12 r13".split(), 32: "eax ebx ecx edx esi r8d r9d r10d r11d r12d r13d".split(),
         16: "ax bx cx dx si r8w r9w r10w r11w r12w r13w".split(), 8: "al bl cl dl sil r8b r9b r10b r11b r12b r13b".split()}
CONDITIONS = "o no b ae e ne be a s ns p np l ge le g".split()
# rdi: the buffer; r15: where indirect jumps lead; r14, rbp: of loops; rsp: the stack


def instruction(r):
    w = r.choice([8, 16, 32, 64, 32, 64])
    a, b, i, j = r.choice(NAMES[w]), r.choice(NAMES[w]), r.randrange(11), r.randrange(11)
    q, e = NAMES[64][i], NAMES[32][i]
    q2, e2 = NAMES[64][j], NAMES[32][j]
    at = f"[rdi + {r.randrange(BYTES - 64)}]"
    imm = r.randrange(-128, 128) if w == 8 else r.randrange(-30000, 30000)
    x, y = r.randrange(14), r.randrange(14)
    indexed = f"and {e}, {BYTES - 64 & ~7}\n"
    return r.choice([
        lambda: f"{r.choice('add sub xor and or adc sbb cmp test mov'.split())} {a}, {b}",
        lambda: f"{r.choice('add sub xor and or adc sbb cmp mov'.split())} {a}, {imm}",
        lambda: f"{r.choice('add sub xor and or adc sbb cmp mov'.split())} {a}, {at}",
        lambda: f"{r.choice('add sub xor and or adc sbb cmp mov test'.split())} {at}, {a}",
        lambda: f"{r.choice('inc dec neg not'.split())} {a}",
        lambda: f"{r.choice('shl shr sar rol ror rcl rcr'.split())} {a}, {r.randrange(1, 8)}",
        lambda: f"{r.choice('shl shr sar rol ror'.split())} {a}, cl",
        lambda: f"set{r.choice(CONDITIONS)} {r.choice(NAMES[8])}",
        lambda: f"cmov{r.choice(CONDITIONS)} {q}, {q2}",
        lambda: f"imul {q}, {q2}, {r.randrange(3, 1 << 20, 2)}",
        lambda: f"mul {q2}",
        lambda: f"lea {q}, [{q2} + {q}*{r.choice([1, 2, 4, 8])} + {imm}]",
        lambda: f"lea {q}, [rip + words]\nmov {q}, [{q} + {8 * r.randrange(8)}]",
        lambda: f"mov {q}, [rip + words + {8 * r.randrange(8)}]",
        lambda: f"{indexed}mov {q2}, [rdi + {q}]",
        lambda: f"{indexed}mov [rdi + {q}], {q2}",
        lambda: f"{indexed}movzx {e2}, byte ptr [rdi + {q} + {r.randrange(64)}]",
        lambda: f"movsx {q}, {r.choice(['byte', 'word'])} ptr {at}",
        lambda: f"movsxd {q}, {e2}",
        lambda: f"bswap {q}",
        lambda: f"bsf {q}, {q2}" if r.random() < .5 else f"popcnt {q}, {q2}",
        lambda: f"bt {q}, {r.randrange(64)}",
        lambda: f"xchg {q}, {q2}",
        lambda: f"xchg {at}, {q}",
        lambda: f"lock xadd {at}, {q}",
        lambda: f"lock cmpxchg {at}, {q}",
        lambda: f"push {q}\n{instruction(r)}\npop {q2}",
        lambda: f"pushfq\n{instruction(r)}\npopfq",
        lambda: f"lahf\n{instruction(r)}\nsahf",
        lambda: f"movd xmm{x}, {e}\npaddd xmm{y}, xmm{x}\npshufd xmm{x}, xmm{y}, {r.randrange(256)}\npmovmskb {e}, xmm{x}",
        lambda: f"movdqu xmm{x}, {at}\npxor xmm{x}, xmm{y}\nmovdqu {at}, xmm{x}",
        lambda: f"cvtsi2sd xmm{x}, {q}\nmulsd xmm{x}, xmm{x}\nucomisd xmm{x}, xmm{y}",
        lambda: f"push rdi\npush rcx\nlea rdi, {at}\nmov ecx, {r.randrange(64)}\nrep stosb\npop rcx\npop rdi",
        lambda: f"push rdi\npush rsi\npush rcx\nlea rsi, {at}\nadd rdi, {r.randrange(BYTES - 64)}\nmov ecx, {r.randrange(64)}\n"
                f"{r.choice(['rep movsb', 'repe cmpsb', 'repne scasb'])}\npop rcx\npop rsi\npop rdi",
        lambda: f"xor edx, edx\nor {e}, 1\nmov eax, {e2}\n" + (f"div {e}" if e not in ("eax", "edx") else "nop"),
        lambda: f"mov {q}, fs:[0]",
        lambda: "cld",
    ])()


def block(r, leaf):
    """It ends where it leads to another; every block moves the state, or a walk would be a small loop."""
    lines = [f"imul rbx, rbx, {r.randrange(5, 1 << 30, 8)}", f"add rbx, {r.randrange(1, 1 << 30, 2)}"]
    lines += [instruction(r) for _ in range(r.randrange(12))]
    to = lambda: f"b{r.randrange(BLOCKS)}"
    by_state = f"mov rax, rbx\nshr rax, {r.randrange(20, 50)}\nand eax, 31\n"
    if leaf:
        return lines + [f"j{r.choice(CONDITIONS)} 1f\n" + instruction(r) + "\n1: ret" if r.random() < .5 else
                        r.choice(["ret", "ret", "rep ret", "pop rcx\njmp rcx"])]
    return lines + [r.choice([
        lambda: f"bt rbx, {r.randrange(24, 60)}\nj{r.choice(['b', 'ae'])} {to()}\njmp {to()}",
        lambda: f"j{r.choice(CONDITIONS)} {to()}\njmp {to()}",
        lambda: by_state + "jmp [r15 + rax*8]",
        lambda: by_state + "mov rax, [r15 + rax*8]\njmp rax",
        lambda: f"call l{r.randrange(LEAVES)}\njmp {to()}",
        lambda: f"lea rax, [rip + l{r.randrange(LEAVES)}]\ncall rax\njmp {to()}",
        lambda: by_state + "push [r15 + rax*8]\nret",
        lambda: f"mov ebp, {r.randrange(1, 20)}\n1: {instruction(r)}\ndec ebp\njnz 1b\njmp {to()}",
        lambda: f"mov ecx, {r.randrange(1, 20)}\n1: lea r14, [r14 + rcx]\nloop 1b\njmp {to()}",
        lambda: f"jrcxz 1f\njmp {to()}\n1: jmp {to()}",
    ])()]


def program(seed):
    r = random.Random(seed)
    text = ".intel_syntax noprefix\n.globl _start\n_start:\nlea rdi, [rip + buffer]\nlea r15, [rip + table]\n"
    # a thread pointer, so that fs: leads somewhere: arch_prctl(ARCH_SET_FS)
    text += f"mov rbx, {r.randrange(1 << 62)}\nmov rsi, rdi\nmov edi, 0x1002\nmov eax, 158\nsyscall\nlea rdi, [rip + buffer]\njmp b0\n"
    for n in range(BLOCKS):
        text += f".p2align {r.choice([0, 0, 4])}\nb{n}:\n" + "\n".join(block(r, False)) + "\n"
    for n in range(LEAVES):
        text += f"l{n}:\n" + "\n".join(block(r, True)) + "\n"
    text += ".data\n.p2align 3\ntable:\n" + "".join(f".quad b{r.randrange(BLOCKS)}\n" for _ in range(32))
    text += "words:\n" + "".join(f".quad {r.randrange(1 << 63)}\n" for _ in range(8)) + f".bss\n.p2align 6\nbuffer: .skip {BYTES}\n"
    return text + '.section .note.GNU-stack,"",@progbits\n'


def differs(seed, folder):
    """(bursts, blocks compared, what is wrong or None)"""
    path = os.path.join(folder, f"random-{seed}")
    with open(path + ".s", "w") as f:
        f.write(program(seed))
    built = subprocess.run(["gcc", "-nostdlib", "-static", "-Wa,--noexecstack", "-o", path, path + ".s"], capture_output=True, text=True)
    if built.returncode:
        return 0, 0, f"it does not assemble: {built.stderr[-300:]}"
    run = subprocess.run([DRIVER, "-v", "-n", "10", "-i", "1500", "-g", "1", "-s", "5", "--", path], capture_output=True, text=True)
    answers = [json.loads(line) for line in run.stdout.splitlines() if line.startswith('{"bursts"')]
    if not answers:
        return 0, 0, f"the driver: exit {run.returncode}: {run.stderr[-300:]}"
    a = answers[-1]
    wrong = run.stderr[-1500:] if a["differed"] else None
    return a["bursts"], a["verified_blocks"], wrong


def main():
    if platform.machine() != "x86_64":
        print("bursts follow x86-64 code only")
        return 77
    subprocess.run(["make", "-s", "BUILD=" + BUILD, "CS_DEPS_DONE=1", DRIVER], check=True)
    end, runs, bursts, blocks, failed = time.monotonic() + SECONDS, 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        while runs == 0 or (SEED is None and time.monotonic() < end):
            seed = SEED if SEED is not None else random.SystemRandom().randrange(1 << 32)
            n, compared, wrong = differs(seed, folder)
            runs, bursts, blocks = runs + 1, bursts + n, blocks + compared
            if wrong:
                failed += 1
                print(f"seed {seed}: {wrong}", flush=True)
    print(f"{runs} programs, {bursts:.0f} bursts, {blocks:.0f} blocks compared, {failed} programs differ")
    print(f"stat::number_of_executed_units: {runs}")
    if not failed and bursts < runs: # a burst a program is little: nothing was compared
        print("too few bursts: they are not permitted here, or the machine is too busy")
        return 77 if bursts == 0 else 1
    return 1 if failed else 0


sys.exit(main())
