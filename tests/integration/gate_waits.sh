#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gate: a few longer sleeps are found by their exact sum, in all and by kind, and the function and the line that sleep are
# named.
set -u
command -v gcc >/dev/null || { echo "no gcc"; exit 77; }
work=$(mktemp -d -p /dev/shm)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
fail() { echo "not ok: $*"; exit 1; }
gate() { "$CYCLESCOPE" gate "$@" >said 2>err; code=$?; }
mkdir short long

# Three longer sleeps: no place has many waits, but all waits in sum are exact.
cat >nap.c <<'C'
#include <time.h>
volatile unsigned long sum;
__attribute__((noinline)) void nap(void) { for (int i = 0; i < 3; i++) nanosleep(&(struct timespec){0, NAP}, 0); }
int main(void) { for (unsigned long i = 0; i < 50000000; i++) sum += i; nap(); }
C
gcc -g -O1 -DNAP=100000 -o short/nap nap.c && gcc -g -O1 -DNAP=3000000 -o long/nap nap.c || fail "gcc"
gate --for 12s --keep kept --base-command short/nap --json -- long/nap
python3 - <<'P' || fail "longer sleeps: exit $code: $(cat said err)"
import json
said = json.load(open("said"))
check = {c["check"]: c for c in said["checks"]}
if "threads' waits" in check["waits"]["what"]:
    assert check["waits"]["verdict"] == said["verdict"] == "slower", check
    sleep, = [g for g in said["guilty"] if g["kind"] == "sleep"]
    assert sleep["function"] == "nap" and sleep["cause"] == "sleep", sleep
    assert sleep["line"].endswith("/nap.c:3"), sleep
P

# Runs that are only timed have the naps in what is neither CPU time nor a wait for a CPU: each head 9 ms at least.
if [ -r /proc/self/schedstat ]; then
    awk 'NF != 6 || $5 != "thread" || $3 - $2 - $6 < 9e6 { exit 1 } END { if (NR < 1) exit 1 }' kept/head.times ||
        fail "timed runs: $(head -n 5 kept/head.times)"
fi

# The same in one thread, while another's wait differs from run to run by more: sleeps by themselves grew.
cat >beside.c <<'C'
#include <pthread.h>
#include <time.h>
#include <unistd.h>
volatile unsigned long sum;
__attribute__((noinline)) void nap(void) { for (int i = 0; i < 3; i++) nanosleep(&(struct timespec){0, NAP}, 0); }
static void *sleeper(void *none) { nap(); return none; }
static void *waiter(void *none)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += getpid() * 7919L % 40 * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&mutex);
    while (pthread_cond_timedwait(&never, &mutex, &until) == 0)
        ;
    pthread_mutex_unlock(&mutex);
    return none;
}
int main(void)
{
    pthread_t thread[2];
    pthread_create(&thread[0], 0, sleeper, 0);
    pthread_create(&thread[1], 0, waiter, 0);
    for (unsigned long i = 0; i < 50000000; i++)
        sum += i;
    pthread_join(thread[0], 0);
    pthread_join(thread[1], 0);
}
C
gcc -g -O1 -pthread -DNAP=100000 -o short/beside beside.c && gcc -g -O1 -pthread -DNAP=3000000 -o long/beside beside.c || fail "gcc"
gate --for 16s --base-command short/beside --json -- long/beside
python3 - <<'P' || fail "longer sleeps beside another's waits: exit $code: $(cat said err)"
import json
said = json.load(open("said"))
check = {c["check"]: c for c in said["checks"]}
if "threads' waits" in check["waits"]["what"]:
    assert check["waits"]["verdict"] == said["verdict"] == "slower", check
    sleep, = [g for g in said["guilty"] if g["kind"] == "sleep"]
    assert sleep["function"] == "nap" and sleep["cause"] == "sleep", sleep
    assert sleep["line"].endswith("/beside.c:5"), sleep
P
echo ok
