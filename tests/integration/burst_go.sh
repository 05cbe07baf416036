#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Go's runtime handles every signal that else does nothing; bursts of a Go program are made all the same, its results are those
# without us, and what its runtime sends itself isn't lost: a goroutine in a loop without calls still gives way.
set -u
command -v go >/dev/null || { echo "no go here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
not_ok() { echo "not ok: $*"; bad=1; }
cat >"$work/main.go" <<'G'
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

var sink uint32

func main() {
	runtime.GOMAXPROCS(1)
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	others := make(chan os.Signal, 1)
	signal.Notify(others, syscall.SIGWINCH, syscall.SIGCHLD, syscall.SIGTERM, syscall.SIGIO)
	go func() { // no calls: only a signal makes it give way
		x := uint32(1)
		for {
			x = x*1664525 + 1013904223
			if x == 7 {
				sink = x
			}
		}
	}()
	turns, longest, last := 0, time.Duration(0), time.Now()
	for end := last.Add(time.Duration(seconds * 1e9)); last.Before(end); turns++ {
		runtime.Gosched() // the other one's turn, until it is preempted
		now := time.Now()
		if now.Sub(last) > longest {
			longest = now.Sub(last)
		}
		last = now
		if turns%50 == 0 {
			runtime.GC() // stops the world
		}
	}
	select {
	case s := <-others:
		fmt.Println("a signal of nobody's:", s)
		os.Exit(1)
	default:
	}
	fmt.Println(turns, longest.Milliseconds())
}
G
(cd "$work" && HOME=$work GOFLAGS=-mod=mod go build -o program main.go) >"$work/built" 2>&1 || { echo "go builds nothing here: $(tail -n 1 "$work/built")"; exit 77; }
timeout 60 "$CYCLESCOPE" record -v --burst-rate 100 -o "$work/store" -- "$work/program" 4 >"$work/out" 2>"$work/err"
rc=$?
line=$(grep -m 1 ' bursts*, ' "$work/err")
echo "$line; turns, the longest in ms: $(cat "$work/out")"
[ $rc = 0 ] || not_ok "exit $rc: $(cat "$work/out" "$work/err")"
[ -n "$line" ] || { cat "$work/err"; exit 77; }
[ "${line%% *}" -ge 5 ] || not_ok "${line%% *} bursts: $(cat "$work/err")"
read -r turns longest <"$work/out"
# Each turn is a preemption, after 10 ms; one that is lost would be the last.
[ "${turns:-0}" -ge 20 ] || not_ok "${turns:-no} turns: a goroutine never gave way"
[ $bad = 0 ] && echo ok
exit $bad
