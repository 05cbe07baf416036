# SPDX-License-Identifier: GPL-2.0-or-later
# For tests of waits, sourced when $work is a folder: skips where no waits can be recorded.
[ "$(id -u)" = 0 ] || { echo "waits need root"; exit 77; }
"$CYCLESCOPE" record --waits --no-bursts -o "$work/try" -- sleep 0.1 >/dev/null 2>"$work/said"
grep -q "can't be recorded" "$work/said" && { echo "no waits here: $(grep "can't be" "$work/said")"; exit 77; }

# ahead COMMAND...: other programs of the machine leave it the CPUs.
ahead() { setsid -w sh -c 'echo -19 >/proc/self/autogroup; exec nice -n -15 "$@"' sh "$@"; }
