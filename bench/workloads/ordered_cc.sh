#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gcc for a program with the plugin: behind each tag point the CPU finishes what it began (lfence), so that it can't run ahead
# of its tags. bench/signals-shares.py builds with it to see what of a difference is the CPU's, not the plugin's.
args=("$@") compile="" source="" out=""
for ((i = 0; i < $#; i++)); do
    case ${args[i]} in
    -c) compile=$i ;;
    -o) out=$((i + 1)) ;;
    *.c) source=${args[i]} ;;
    esac
done
if [ -z "$compile" ] || [ -z "$source" ] || [ -z "$out" ]; then
    exec gcc "$@"
fi
object=${args[out]}
args[compile]=-S
args[out]=$object.s
gcc "${args[@]}" || exit 1
# shellcheck disable=SC2016
sed -i -E 's/^(1:\tmovq\t\$__ehdr_start-1b, %fs:.*)$/\1\n\tlfence/' "$object.s"
gcc -c "$object.s" -o "$object"
