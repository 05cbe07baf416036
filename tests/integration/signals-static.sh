#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A fully static program by the header's recipe runs, and its threads have lines: in C and in C++, whose library asks for
# pthread_create by a weak reference.
# Beside others.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
recipe=(-O2 -static -Wl,--wrap=pthread_create -Isignals)
cat >"$work/c.c" <<'C'
#include "cyclescope.h"
#include <pthread.h>
#include <stdio.h>
static cs_signal phase;
static void *run(void *seen) { cs_set(phase, 7); *(uint64_t *)seen = cs_get(phase); return NULL; }
int main(void)
{
    uint64_t seen = 0;
    pthread_t thread;
    phase = cs_define(CS_ANY_WORD, "phase", CS_TAG);
    cs_set(phase, 3);
    if (pthread_create(&thread, NULL, run, &seen) != 0 || pthread_join(thread, NULL) != 0) return 1;
    printf("%d %d\n", (int)seen, (int)cs_get(phase));
}
C
cat >"$work/cc.cc" <<'C'
#include "cyclescope.h"
#include <cstdio>
#include <thread>
int main()
{
    uint64_t seen = 0;
    cs_signal phase = cs_define(CS_ANY_WORD, "phase", CS_TAG);
    cs_set(phase, 3);
    std::thread([&] { cs_set(phase, 7); seen = cs_get(phase); }).join();
    printf("%d %d\n", (int)seen, (int)cs_get(phase));
}
C
printf 'int main(void) { return 0; }\n' >"$work/empty.c"
gcc -static "$work/empty.c" -o "$work/empty" 2>/dev/null || { echo "skipped: no static libc here"; exit 77; }
for try in "gcc c.c" "g++ cc.cc"; do
    read -r compiler source <<<"$try"
    command -v "$compiler" >/dev/null || continue
    "$compiler" "${recipe[@]}" "$work/$source" "$BUILD/libcyclescope-static.a" -o "$work/program" || { bad=1; continue; }
    got=$("$work/program")
    rc=$?
    [ "$rc $got" = "0 7 3" ] || { echo "not ok: $source: exit $rc, printed '$got', not 7 3"; bad=1; }
done
exit $bad
