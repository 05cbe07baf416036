# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# A test waits for a state, never for a time; tests/sleeps.py finds the others.

until_true() { # [-t SECONDS] COMMAND...: until it says yes, a minute at most
    local seconds=60 end
    if [ "$1" = -t ]; then seconds=$2; shift 2; fi
    end=$((SECONDS + seconds))
    until "$@"; do
        [ $SECONDS -lt $end ] || { echo "not within $seconds s: $*" >&2; return 1; }
        sleep 0.02 # sleeps: between two looks
    done
}
has_run() { # PID [HUNDREDTHS]: it has computed for that long, and is past its beginning
    local line fields
    read -r line 2>/dev/null <"/proc/$1/stat" || return 1
    read -ra fields <<<"${line##*) }"
    [ $((fields[11] + fields[12])) -ge "${2:-3}" ]
}
has_become() { # PID NAME: it has executed that program
    [ "$(cat "/proc/$1/comm" 2>/dev/null)" = "${2:0:15}" ]
}
has_ended() { # PID: nobody is left of it, or a zombie
    ! kill -0 "$1" 2>/dev/null || grep -q '^State:.*[ZX] (' "/proc/$1/status" 2>/dev/null
}
has_line() { grep -qsE -- "$1" "$2"; } # PATTERN FILE
export -f until_true has_run has_become has_ended has_line
