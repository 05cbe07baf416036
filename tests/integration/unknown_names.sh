#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A name that nothing bears is refused, in one sentence that ends with what may have been meant; so is a report that a recording
# has nothing for.
# Beside others.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0 tried=0
cd "$tmp" || exit 1
export CYCLESCOPE_CACHE=$tmp/cache
refused() { # CODE NAME ARGUMENT...: the sentence ends with "did you mean NAME?"; NAME -: with no such question
    local code=$1 name=$2 rc=0 last
    shift 2
    tried=$((tried + 1))
    "$CYCLESCOPE" "$@" >out 2>err </dev/null || rc=$?
    last=$(grep -v 'no hardware cycles here' err)
    if [ $rc -ne "$code" ] || [ -s out ] || [ "$(wc -l <<<"$last")" -ne 1 ] || grep -q '(null)' err ||
        if [ "$name" = - ]; then grep -q 'did you mean' <<<"$last"; else ! grep -q "; did you mean $name?" <<<"$last"; fi; then
        echo "not ok: cyclescope $* gives $rc (expected $code, $name): $last"
        bad=1
    fi
}
"$CYCLESCOPE" record -o s -g --label thread -F 2000 -- "$BUILD/tests/programs/procedures" 100 100 100 60 >said 2>&1 || { cat said; exit 1; }
make -s -C "$OLDPWD" BUILD="$BUILD" CS_DEPS_DONE=1 "$BUILD/signals/examples/phases" >said 2>&1 || { cat said; exit 1; }
"$CYCLESCOPE" observe -t 0.5 -o o -- "$BUILD/signals/examples/phases" >said 2>&1 || { tail -n 1 said; exit 77; }
"$CYCLESCOPE" observe -t 0.5 --log l -- "$BUILD/signals/examples/phases" >said 2>&1 || { tail -n 1 said; exit 77; }

for report in calc list edges cfg callers callees tree; do
    refused 1 gamma_ray $report gama_ray --store s
    refused 1 - $report nothing_like_it --store s
done
refused 1 procedures.c list proceduers.c --store s
for report in prof calc sum list report; do
    refused 1 procedures $report --image procedurse --store s
    refused 1 cpu-clock $report -e cpu-clok --store s
done
refused 1 procedures prof --process procedure --store s
refused 1 procedures export --image procedurse --store s -f folded
refused 1 cpu-clock export -e cpu-clok --store s -f folded
refused 2 folded export -f foldde --store s
refused 2 thread prof --by thred --store s
refused 1 cycles record -e cyclse -o x -- true
refused 1 page-faults record -e page-fualts -o x -- true
refused 2 thread record --label thraed -o x -- true
refused 2 --burst-rate record --brust-rate 30 -o x -- true
refused 2 prof porf
refused 2 verify store verfy
refused 2 status daemon statsu
epoch=$("$CYCLESCOPE" store ls --store s --csv | sed -n 's/^\(2[0-9]*T[0-9]*Z[^,]*\),.*/\1/p' | head -n 1)
[ ${#epoch} -ge 40 ] || refused 1 "$epoch" prof --epoch "x$epoch" --store s

refused 1 stream hist --log l --under strem
refused 1 stream hist --log l --subsample 10 --under strem
refused 1 work hist --log l --counter wrk
refused 1 changes hist --log l --against chnages
refused 1 work hist --log l --log l --counter wrk
refused 1 phase tags --log l --tag phsae
refused 1 phase timeline --log l --tag phsae
refused 1 phase tags --store o --tag phsae
refused 1 phase observe -t 0.1 -s phsae -- "$BUILD/signals/examples/phases"
# What the observer saw has no procedures: each report says so instead of adding nothing up.
for report in calc list sum callers callees tree 'edges main' 'cfg main'; do
    refused 1 - $report --store o
    grep -q 'cyclescope tags' err || { echo "not ok: $report of an observed store: $(cat err)"; bad=1; }
done
refused 1 - diff --store nowhere
grep -q 'there is no store' err || { echo "not ok: $(cat err)"; bad=1; }
[ $bad -eq 0 ] && echo "$tried names were refused"
exit $bad
