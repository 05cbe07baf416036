#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A program that takes over the process that repeats its instructions gains nothing. That it does take it over is seen by that
# process's death: the system call that it tries is one that isn't allowed. (Where rights were kept it would have made a file.)
set -u
. "$(dirname "$0")/../until.sh"
[ "$(id -u)" -eq 0 ] || { echo "needs root: a program of another user"; exit 77; }
for tool in nm objdump setpriv; do
    command -v $tool >/dev/null || { echo "needs $tool"; exit 77; }
done
runner=$BUILD/sampler/burst/runner/runner
[ -e "$runner" ] || { echo "no bursts on this machine"; exit 77; }
work=$(mktemp -d)
trap 'kill $(jobs -pr) 2>/dev/null; rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir -m 700 "$work/roots"
cp "$BUILD/tests/hostile/burst_takeover" "$work/hostile" # where everybody may read it
bad=0
not_ok() {
    echo "not ok: $*"
    bad=1
}
symbol() { nm "$runner" | sed -n "s/^\([0-9a-f]*\) . $1\$/\1/p"; }
table=$(symbol targets) code=$(symbol code_cache)
system_call=$(objdump -d "$runner" | sed -n '/<signal_return>:/,/syscall/ s/^ *\([0-9a-f]*\):.*syscall.*/\1/p')
[ -n "$table" ] && [ -n "$code" ] && [ -n "$system_call" ] || { echo "not ok: the runner's symbols can't be read"; exit 1; }

# The process that repeats code, of those that `record` has started.
replayer_of() {
    local holder
    holder=$(pgrep -P "$1" -x cyclescope-burs | head -n 1)
    [ -z "$holder" ] || pgrep -P "$holder" | head -n 1
}
# What it is: no rights, nothing open that leads anywhere, no memory that can be written and run.
look_at() { # pid user
    local status=/proc/$1/status
    local users=($(awk '$1 == "Uid:" { print $2, $3, $4, $5 }' "$status"))
    [[ ${users[*]} =~ ^($2)\ $2\ $2\ $2$ && -z $(printf '%s\n' "${users[@]}" | sort -u | sed 1d) ]] || not_ok "users: ${users[*]}"
    # Root's is no process's but its own: nobody else may stop it, while a thread stands. Another user's may be, by that user.
    if [ "$2" != 65533 ]; then
        [ "$(ps -eo uid= | grep -c "${users[0]}")" = 1 ] || not_ok "others run as user ${users[0]}"
        setpriv --reuid=65534 --regid=65534 --clear-groups bash -c "kill -STOP $1" 2>/dev/null && not_ok "nobody could stop it"
        kill -CONT "$1"
    fi
    grep -qE '^Cap(Prm|Eff|Bnd|Amb):[[:space:]]*0*[1-9a-f]' "$status" && not_ok "capabilities: $(grep Cap "$status")"
    [ "$(awk '$1 == "Groups:" { print NF }' "$status")" = 1 ] || not_ok "groups: $(grep Groups "$status")"
    grep -qE '^NoNewPrivs:[[:space:]]*1' "$status" || not_ok "$(grep NoNewPrivs "$status")"
    grep -qE '^Seccomp:[[:space:]]*2' "$status" || not_ok "$(grep Seccomp: "$status")"
    grep -qE '^[0-9a-f]+-[0-9a-f]+ .wx' "/proc/$1/maps" && not_ok "writable code: $(grep -E ' .wx' "/proc/$1/maps")"
    local fd
    for fd in /proc/"$1"/fd/*; do
        case $(readlink "$fd") in
        /proc/*/mem | /proc/*/pagemap | anon_inode:*userfaultfd* | anon_inode:*pidfd*) ;;
        *) not_ok "it has open: $(readlink "$fd")" ;;
        esac
    done
    grep -q '^flags:.*[1-7]$' /proc/"$1"/fdinfo/5 && not_ok "it can write the program's memory: $(grep flags /proc/"$1"/fdinfo/5)"
}

places=()
attack() { # name user command...
    local name=$1 user=$2 target recorder replayer at offset
    shift 2
    rm -f "$work/layout"
    "$@" "$work/hostile" 8 "$work/roots/$name" "$work/layout" >"$work/$name.out" 2>&1 &
    target=$!
    until_true has_run $target
    "$CYCLESCOPE" record -v --burst-rate 300 -o "$work/$name.store" -p $target >/dev/null 2>"$work/$name.err" &
    recorder=$!
    has_replayer() { replayer=$(replayer_of $recorder) && [ -n "$replayer" ]; }
    until_true -t 3 has_replayer
    if [ -z "$replayer" ]; then
        not_ok "$name: no bursts: $(cat "$work/$name.err")"
        kill $target
        wait
        return
    fi
    sleep 1 # sleeps: bursts as of any program
    look_at "$replayer" "$user"
    at=$(sed -n 's/^\([0-9a-f]*\)-[0-9a-f]* r-xs .*memfd:code.*/\1/p' "/proc/$replayer/maps")
    [ -n "$at" ] || not_ok "$name: its code isn't found"
    offset=$((16#${at:-0} - 16#$code)) # the image lies elsewhere each time
    places+=("$at")
    printf '%x %x %x\n' $((16#$table + offset)) $((16#$system_call + offset)) $((16#${at:-0})) >"$work/layout.new"
    chmod 644 "$work/layout.new"
    mv "$work/layout.new" "$work/layout"
    wait $target || not_ok "$name: exit $?: $(cat "$work/$name.out")"
    wait $recorder || not_ok "$name: record: exit $?: $(cat "$work/$name.err")"
    grep -q '^unharmed' "$work/$name.out" || not_ok "$name: $(cat "$work/$name.out")"
    [ ! -e "$work/roots/$name" ] || not_ok "$name: it could make a file: $(ls -ln "$work/roots/$name")"
    # 300 bursts a second for six seconds, of which each has half a chance: one that arrives is certain.
    grep -qE 'the runner failed|ended by itself|longer than' "$work/$name.err" || not_ok "$name: the attack didn't arrive: $(cat "$work/$name.err")"
}
attack root "21474[1-8][0-9]{4}" env
attack other 65533 setpriv --reuid=65533 --regid=65533 --clear-groups
[ "${places[0]-}" != "${places[1]-}" ] || not_ok "its code lies at ${places[0]-} each time" # one of 25 million
[ $bad = 0 ] && echo "ok: who repeats foreign code can be taken over, and has nothing"
exit $bad
