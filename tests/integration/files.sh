#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Code whose file is there but not where it was looked for: without section headers, in a memory file, moved to memory of its own,
# copies of a runtime's template. A line "kind NAME: ok" or "kind NAME: WRONG" each; bench/field.py counts them.
set -u
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
    "$CYCLESCOPE" record --no-bursts -o "$@" >said 2>&1 || { echo "record $*: $(cat said)"; return 1; }
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
gcc -O2 -g -o moved moved.c work.c && { ./moved 3 & moved=$!; } && sleep 0.3 && record s3 -t 1 -p $moved && tree_has s3 main outer inner
kind moved-text tree
wait

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
