#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Call chains by thread, counted in the kernel: two threads that run different functions, a second and two of their own CPU time. Each
# thread's tree has its own functions alone, and as many samples as it took time. A thousand threads that come and go have theirs, too.
set -u
[ "$(id -u)" = 0 ] || { echo "unwinding in the kernel needs root"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
"$CYCLESCOPE" record --driver bpf --no-bursts -o try -- true >/dev/null 2>&1 || { echo "no BPF here"; exit 77; }
cat >two.c <<'C'
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
static volatile unsigned long sink;
#define OWN __attribute__((noinline)) static
OWN void churn(int n) { for (int i = 0; i < n; i++) sink = sink * 31 + (unsigned long)i; }
OWN void parse(void) { churn(20000); sink++; }
OWN void render(void) { churn(30000); sink += 2; }
OWN void brief(void) { churn(300000); sink++; }
static double spent(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return (double)t.tv_sec + (double)t.tv_nsec * 1e-9; }
static void *parser(void *a) { prctl(PR_SET_NAME, "parser"); while (spent() < 1) for (int i = 0; i < 50; i++) parse(); return a; }
static void *renderer(void *a) { prctl(PR_SET_NAME, "renderer"); while (spent() < 2) for (int i = 0; i < 50; i++) render(); return a; }
static void *one_of_many(void *a) { brief(); return a; }
int main(int argc, char **argv)
{
    pthread_t t[2];
    if (argc > 1) {
        for (int i = 0; i < atoi(argv[1]); i++)
            pthread_create(&t[0], NULL, one_of_many, NULL), pthread_join(t[0], NULL);
        return 0;
    }
    pthread_create(&t[0], NULL, parser, NULL), pthread_create(&t[1], NULL, renderer, NULL);
    pthread_join(t[0], NULL), pthread_join(t[1], NULL);
}
C
gcc -O2 -fomit-frame-pointer -o two two.c -lpthread || { echo "no C compiler"; exit 77; }
bad=0
fail() { echo "not ok: $*"; bad=1; }
# What the host steals is sampled (the timer goes on) and in no thread's CPU time: either thread may have all of it.
stolen_hundredths() { awk '/^cpu / { print $9 }' /proc/stat; }
stolen=$(stolen_hundredths)
"$CYCLESCOPE" record --label thread -F 500 --driver bpf --no-bursts -o store -- ./two >said 2>&1 || fail "record: $(cat said)"
stolen=$(($(stolen_hundredths) - stolen))
for thread in "parser parse render 500" "renderer render parse 1000"; do
    read -r name own other samples <<<"$thread"
    "$CYCLESCOPE" tree --store store --process "$name" --min 0 --json >tree.json 2>said || fail "tree of $name: $(cat said)"
    python3 - "$own" "$other" "$samples" "$stolen" <<'PY' || fail "$name: $(head -c 600 tree.json)"
import json, sys
own, other, samples, stolen = sys.argv[1], sys.argv[2], int(sys.argv[3]), 5 * int(sys.argv[4])
rows = json.load(open('tree.json'))['rows']
total = {}
for row in rows:
    name = row['procedure']
    total[name] = max(total.get(name, 0), row['total'])
print(f"# {own}: {total.get(own)} of {max(total.values())} samples; {other}: {total.get(other, 0)}; {stolen} are stolen at most")
assert 0.9 * samples <= max(total.values()) <= 1.1 * samples + stolen, total
assert total[own] >= 0.97 * max(total.values()) and not any(other in name for name in total), total
PY
done
"$CYCLESCOPE" tree --store store --by thread | grep -q '^ *3[0-9]\.[0-9] .*parser (' || fail "tree --by thread: $("$CYCLESCOPE" tree --store store --by thread | head -5)"
"$CYCLESCOPE" callers churn.constprop.0 --store store --process parser 2>/dev/null | grep -q parse || "$CYCLESCOPE" callers churn --store store --process parser | grep -q parse ||
    fail "callers of one thread"
"$CYCLESCOPE" record --label thread -F 2000 --driver bpf --no-bursts --json -o many -- ./two 1000 >said 2>&1 || fail "record of many: $(cat said)"
python3 - <<'PY' || fail "a thousand threads"
import json
text = open('said').read()
said = json.loads(text[text.index('{\n'):])
ends = said['chains']['ends']
print('# a thousand threads:', said['delivered'], 'samples,', ends)
assert ends.get('tree-full', 0) <= 0.01 * said['delivered'] and ends['complete'] >= 0.9 * said['delivered'], ends
PY
exit $bad
