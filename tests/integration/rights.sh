#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside others.
# Which capabilities each feature needs, for somebody who isn't root: with them it works, without any one of them it doesn't. The
# table that comes out is the one of docs/security.md, for a kernel whose perf_event_paranoid is 2.
set -u
. "$(dirname "$0")/../until.sh"
[ "$(id -u)" = 0 ] || { echo "needs root: users with some capabilities"; exit 77; }
command -v setpriv >/dev/null || { echo "needs setpriv"; exit 77; }
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 2 ] || { echo "perf_event_paranoid isn't 2 here"; exit 77; }
[ "$(cat /proc/sys/kernel/unprivileged_bpf_disabled 2>/dev/null)" != 0 ] || { echo "BPF is everybody's here"; exit 77; }
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
targets=()
trap 'kill "${targets[@]}" 2>/dev/null; rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir "$work/closed" && mkdir -m 777 "$work/out"
cp "$CYCLESCOPE" "$work/cyclescope" # where everybody may run it
ours=$work/cyclescope
cat >"$work/spin.c" <<'C'
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long x;
__attribute__((noinline)) void busy_procedure(void) { for (unsigned long i = 0; i < 100000; i++) x += i; }
int main(int argc, char **argv)
{
    clock_t end = (clock_t)((argc > 1 ? atof(argv[1]) : 1000) * CLOCKS_PER_SEC);
    while (clock() < end)
        busy_procedure();
    return 0;
}
C
${CC:-gcc} -O1 -g -static -o "$work/spin" "$work/spin.c" 2>/dev/null || { echo "no compiler"; exit 77; }
cp "$work/spin" "$work/closed/in_a_folder"
chown 65533 "$work/closed" && chmod 700 "$work/closed"
them=(setpriv --reuid=65533 --regid=65533 --clear-groups)
"${them[@]}" "$work/spin" & targets+=($!)
"${them[@]}" "$work/closed/in_a_folder" & targets+=($!)
for target in "${targets[@]}"; do until_true has_run "$target"; done

bad=0 last=
not_ok() { bad=1; echo "not ok: $*"; }
works() { # CAPABILITIES CHECK COMMAND...: 0 when what is said satisfies the check
    local caps=-all cap check=$2
    for cap in $1; do caps+=,+$cap; done
    shift 2
    rm -rf "$work/out/"*
    timeout 60 setpriv --reuid=65532 --regid=65532 --clear-groups --inh-caps=$caps --ambient-caps=$caps "$@" >"$work/said" 2>&1
    last=$(tail -n 3 "$work/said")
    "$check" "$work/said"
}
row() { # FEATURE CAPABILITIES CHECK COMMAND...
    local feature=$1 needed=$2 check=$3 cap fewer named=
    shift 3
    works "$needed" "$check" "$@" || not_ok "$feature: not with ${needed:-none}: $last"
    for cap in $needed; do
        fewer=$(printf '%s\n' $needed | grep -vx "$cap" | paste -sd' ')
        works "$fewer" "$check" "$@" && not_ok "$feature: works without $cap, too"
        named+=", \`CAP_${cap^^}\`"
    done
    printf '| %s | %s |\n' "$feature" "${named:2}" | sed 's/|  |$/| none |/' >"$work/row"
    cat "$work/row"
    grep -qxFf "$work/row" "$here/docs/security.md" || not_ok "docs/security.md says otherwise"
}
samples() { grep -qE '^[1-9][0-9,]* samples?' "$1"; }
kernel_too() { samples "$1" && ! grep -q 'user code only' "$1"; }
kernel_names() { kernel_too "$1" && ! grep -q 'addresses are hidden' "$1"; }
procedures() { grep -q busy_procedure "$1"; }
chains() { grep -qE '^call chains: [1-9]' "$1"; }
bursts() { grep -qE '^[1-9][0-9,]* bursts?' "$1"; }
observed() { grep -qE 'samples|gaps|intervals' "$1" && ! grep -q 'cannot be known' "$1"; }
record=("$ours" record -v -F 500 -o "$work/out/store")
plain=("${record[@]}" --no-bursts --no-chains)
echo "| what | capabilities |"
row "\`record -- COMMAND\`, your own code" "" samples "${plain[@]}" -- "$work/spin" 0.2
row "the kernel's code in it" perfmon kernel_too "${plain[@]}" -- "$work/spin" 0.2
row "the kernel's functions by name" "perfmon syslog" kernel_names "${plain[@]}" -- "$work/spin" 0.2
row "bursts of your own programs" "" bursts "${record[@]}" --no-chains --burst-rate 200 -- "$work/spin" 4
row "call chains without frame pointers" "perfmon bpf" chains "${record[@]}" --no-bursts -g -- "$work/spin" 0.2
row "\`record -p\`, another user's process" perfmon samples "${plain[@]}" --seconds 0.5 -p "${targets[0]}"
row "names in files that you may not read" "perfmon dac_read_search" procedures "${plain[@]}" --seconds 0.7 -p "${targets[1]}"
row "\`record -a\`, all programs" perfmon samples "${plain[@]}" --seconds 0.3 -a
if [ "$(nproc)" -ge 2 ]; then
    row "\`observe\`, who runs (\`os:thread\`)" "perfmon bpf" observed "$ours" observe -s os:thread -t 0.3 -- "$work/spin" 5
fi
# Bursts of another user's process are root's alone, whatever capabilities others have.
works "perfmon bpf sys_ptrace dac_read_search syslog kill setuid setgid" bursts "${record[@]}" --no-chains --burst-rate 200 --seconds 0.5 \
    -p "${targets[0]}" && not_ok "bursts of another user's process, by one who isn't root"
[ $bad = 0 ] && echo "ok: the table holds"
exit $bad
