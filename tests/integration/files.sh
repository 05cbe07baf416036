#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# Code whose file is there but not as it was looked for: without section headers, in a memory file, moved to memory of its own,
# of gigabytes, in two segments of one page, copies of a runtime's template. A line "kind NAME: ok" or "kind NAME: WRONG" each; bench/field.py counts them.
set -u
. "$(dirname "$0")/../until.sh"
work=$(mktemp -d) bad=0
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
kind() { # NAME: the last command's status decides
    [ $? = 0 ] && echo "kind $1: ok" && return
    echo "kind $1: WRONG"
    bad=1
    tail -n 30 "${2:-/dev/null}"
}
lacks() { echo "kind $1: skipped, $2"; }
record() { # STORE OPTIONS... -- COMMAND...
    "$CYCLESCOPE" record -v --no-bursts -o "$@" >said 2>&1 || { echo "record $*: $(cat said)"; return 1; }
}
tree_has() { "$CYCLESCOPE" tree --store "$1" --min 5 >tree 2>&1 && python3 - "${@:2}" <<'P'
import re, sys
names = [re.sub(r"^[ \d.]*", "", line).split("  ")[0] for line in open("tree")]
at = -1
for wanted in sys.argv[1:]:
    at = next((i for i, name in enumerate(names) if i > at and name.strip() == wanted), None)
    assert at is not None, (wanted, names)
P
}
cat >work.c <<'C'
__attribute__((noinline)) void inner(long n) { for (volatile long i = 0; i < n; i++); }
__attribute__((noinline)) void outer(long n) { inner(n); __asm__ volatile(""); }
C

# ---- a library without section headers: exported names, frames by the segments ----
echo 'void outer(long); int main(void) { for (int i = 0; i < 80; i++) { outer(2000000); __asm__ volatile(""); } }' >main.c
gcc -O2 -fPIC -shared -o libwork.so work.c && gcc -O2 -g -o caller main.c ./libwork.so && python3 - <<'P'
import struct
d = bytearray(open("libwork.so", "rb").read())
at, = struct.unpack_from("<Q", d, 40)
struct.pack_into("<Q", d, 40, 0)
struct.pack_into("<HHH", d, 58, 0, 0, 0)
open("libwork.so", "wb").write(d[:at])
P
record s1 -- ./caller && tree_has s1 main outer inner
kind no-section-headers tree

# ---- a program that is run from a memory file ----
cat >memory.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>
int main(int argc, char **argv, char **env)
{
    int from = open(argv[1], O_RDONLY), to = memfd_create("program", MFD_CLOEXEC);
    while (argc && sendfile(to, from, 0, 1 << 20) > 0);
    fexecve(to, argv + 1, env);
    return 1;
}
C
gcc -O2 -g -o program main.c work.c && gcc -O2 -o memory memory.c && record s2 -- ./memory ./program && tree_has s2 main outer inner
kind memfd-program tree

# ---- text that a program moved to anonymous memory at its own place ----
cat >moved.c <<'C'
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
extern char __executable_start, etext;
void outer(long);
static void move(char *at, char *copy, size_t n) { mremap(copy, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, at); }
int main(int argc, char **argv)
{
    char *from = (char *)((uintptr_t)&outer & -4096), *end = (char *)(((uintptr_t)&etext + 4095) & -4096);
    void *(*volatile keep)(void *, const void *, size_t) = memcpy;
    char *copy = mmap(NULL, (size_t)(end - from), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    keep(copy, from, (size_t)(end - from));
    mprotect(copy, (size_t)(end - from), PROT_READ | PROT_EXEC);
    move(from, copy, (size_t)(end - from));
    for (time_t stop = time(NULL) + atoi(argv[argc - 1]); time(NULL) < stop;) { outer(300000); __asm__ volatile(""); }
    return 0;
}
C
gcc -O2 -g -o moved moved.c work.c && { ./moved 3 & moved=$!; } && until_true has_run $moved && record s3 -t 1 -p $moved && tree_has s3 main outer inner
kind moved-text tree
wait

# ---- executables of 3, 5 and 20 GB, whose last section is mostly a hole ----
gcc -O2 -g -o plain main.c work.c
large() { # GIGABYTES
    cp plain "large$1" && python3 - "large$1" $(($1 << 30)) <<'P'
import struct, sys
f, end = open(sys.argv[1], "r+b"), int(sys.argv[2])
head = f.read(64)
at, = struct.unpack_from("<Q", head, 40)
n, = struct.unpack_from("<H", head, 60)
f.seek(at)
sections = bytearray(f.read(64 * n))
comment = next(i for i in range(n) if struct.unpack_from("<IQ", sections, 64 * i + 4) == (1, 0x30) and not struct.unpack_from("<Q", sections, 64 * i + 16)[0])
f.truncate(end)
struct.pack_into("<QQ", sections, 64 * comment + 24, 1 << 20, end - (1 << 20))
f.seek(at)
f.write(sections)
P
    record "large.s$1" -g -- "./large$1" && "$CYCLESCOPE" list inner --store "large.s$1" >tree && grep -q 'work.c' tree
}
if truncate -s 21G room 2>said; then
    rm room
    large 3 && tree_has large.s3 main outer inner && grep -Eq 'call chains: (9[0-9]|100)' said && large 5 && tree_has large.s5 main outer inner &&
        grep -Eq 'call chains: (9[0-9]|100)' said && large 20 && grep -q 'a file whose unwind information could not be read.*(no-table)' said
    kind large-executables said
else
    lacks large-executables "no sparse files here: $(tail -n 1 said)"
fi
rm -f large3 large5 large20

# ---- two segments of code in one page of the file, each in a page of its own in memory ----
if [ "$(uname -m)" = x86_64 ]; then
    cat >pages.c <<'C'
__attribute__((noinline, section(".second"))) void inner(long n) { for (volatile long i = 0; i < n; i++); }
__attribute__((noinline, section(".first"))) void outer(long n) { inner(n); __asm__ volatile(""); }
__attribute__((noinline, section(".first"))) void spin(long n) { for (volatile long i = 0; i < n; i++); }
__attribute__((section(".first"))) void run(void)
{
    for (int i = 0; i < 80; i++) { outer(1500000); spin(500000); }
    __asm__ volatile("syscall" : : "a"(231), "D"(0));
}
__asm__(".section .first,\"ax\"\n.globl _start\n.type _start, @function\n_start: .cfi_startproc\n.cfi_undefined rip\ncall run\n.cfi_endproc\n.size _start, .-_start");
C
    cat >pages.ld <<'L'
ENTRY(_start)
PHDRS { frames PT_LOAD FLAGS(4); one PT_LOAD FLAGS(5); two PT_LOAD FLAGS(5); }
SECTIONS {
    . = 0x400000 + SIZEOF_HEADERS;
    .eh_frame : { KEEP(*(.eh_frame)) } :frames
    . += 0x100000;
    .first : { *(.first) } :one
    . += 0x100000;
    .second : { *(.second) } :two
    /DISCARD/ : { *(.note*) *(.comment) *(.text) *(.data) *(.bss) }
}
L
    gcc -O2 -g -nostdlib -static -fno-pie -no-pie -fcf-protection=none -Wl,--build-id=none -Wl,-T,pages.ld -o pages pages.c &&
        readelf -lW pages | awk '/LOAD.*R E/ {print substr($2, 1, length($2) - 3)}' | uniq -d | grep -q . && record s5 -g -- ./pages &&
        tree_has s5 _start run outer inner && tree_has s5 _start run spin && grep -Eq 'call chains: (9[0-9]|100)' said
    kind two-code-segments tree
fi

# ---- CPython's own perf support: a template's copies have no frame pointer ----
python=
for p in python3.12 python3.13 "$HOME"/.pyenv/versions/3.1[23]*/bin/python3; do
    "$p" -X perf -c '' >/dev/null 2>&1 && python=$p && break
done
if [ -n "$python" ]; then
    cat >calls.py <<'P'
import time
def inner(n):
    s = 0
    for i in range(n): s += i * i % 7
    return s
def outer(n): return inner(n) + 1
def main():
    end = time.process_time() + 1.0
    while time.process_time() < end: outer(3000)
main()
P
    record s4 -- "$python" -X perf calls.py && grep -Eq 'call chains: (9[0-9]|100)' said &&
        "$CYCLESCOPE" tree --store s4 --min 5 >tree && python3 -c '
import re
at = {w: next(i for i, line in enumerate(open("tree")) if w in line) for w in ("_start", "py::main", "py::outer", "py::inner")}
assert at["_start"] < at["py::main"] < at["py::outer"] < at["py::inner"], at' >>said 2>&1
    kind python-trampolines said
else
    lacks python-trampolines "no Python with -X perf here"
fi
[ $bad = 0 ]
