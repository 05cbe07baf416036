#!/bin/bash
# import reads every recording of the corpus: as many samples as perf script prints, swapped files like their
# originals, malformed ones refused in one sentence.
# Beside others.
set -u
corpus=$(cd "$(dirname "$0")/../.." && pwd)/../shared/corpus
[ -d "$corpus" ] || { echo "no corpus of recordings beside this checkout"; exit 77; }
bad=0
complain() { echo "$*"; bad=1; }
field() { python3 -c 'import json,sys; print(json.load(sys.stdin).get(sys.argv[1]))' "$1"; }

cd "$corpus" || exit 1
for f in quipper-fuzz/*; do
    case $f in *ORIGIN*) continue ;; esac
    err=$("$CYCLESCOPE" import --dry-run "$f" 2>&1 >/dev/null); rc=$?
    [ $rc -eq 1 ] && [ "$(printf '%s\n' "$err" | wc -l)" -eq 1 ] || complain "$f: exit $rc, said: $err"
done

# What no installed perf reads, with the counts that the files' origins state.
expected() {
    case $1 in
    lpd-sleep/sleep.data | lpd-sleep/sleep.compressed2.pipe.data) echo 7 ;;
    lpd-sleep/sleep.compressed.data) echo 8 ;;
    *) ;;
    esac
}
compared=0 read=0
for f in autofdo-ro-sample/*.perf big-endian/*.data lbr-*/*.data lbr-autofdo-test/test.lbr lpd-sleep/*.data \
    quipper-events/perf.data* quipper-lbr/perf.data* quipper-pipe/perf.data* simpleperf-arm64/*.data; do
    case $f in *.pb_text | *.buildids | *.txt) continue ;; esac
    case $f in *zero_size_sample*)
        "$CYCLESCOPE" import --dry-run "$f" >/dev/null 2>&1 && complain "$f: has a record without a size, was taken"
        continue ;;
    esac
    got=$("$CYCLESCOPE" import --dry-run --json "$f" | field samples)
    want=$(expected "$f")
    if [ -z "$want" ] && command -v perf >/dev/null; then
        want=$(perf script -i "$f" -F pid 2>/dev/null | wc -l)
        if [ "$want" -eq 0 ]; then want=; else compared=$((compared + 1)); fi
    fi
    read=$((read + 1))
    [ "${got:-0}" -gt 0 ] || complain "$f: no sample read"
    [ -z "$want" ] || [ "$got" = "$want" ] || complain "$f: $got samples, expected $want"
done
echo "$read files read, $compared compared with perf script"

work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
for pair in "big-endian/perf_b.be.data lbr-simpleperf-elf/perf_b.data" "big-endian/branch-4.14.be.data quipper-lbr/perf.data.branch-4.14"; do
    for side in $pair; do
        "$CYCLESCOPE" import -o "$work/$(basename "$side").store" "$side" >/dev/null || complain "$side: not imported"
        # The swapped copies lack the tables of build-ids and event names: path, kind, offset, to and count remain.
        "$CYCLESCOPE" export --format csv --store "$work/$(basename "$side").store" |
            cut -d, -f2,4,5,7,8 | sort >"$work/$(basename "$side").csv"
        [ -s "$work/$(basename "$side").csv" ] || complain "$side: nothing exported"
    done
    set -- $pair
    cmp -s "$work/$(basename "$1").csv" "$work/$(basename "$2").csv" || complain "$1 and $2 differ"
done
exit $bad
