# SPDX-License-Identifier: GPL-2.0-or-later
# What a log reader does: fields, patterns, counts, substitutions, functions.
function depth(s,   n, i, c) { for (i = 1; i <= length(s); i++) { c = substr(s, i, 1); if (c == "(") n++; else if (c == ")") n-- } return n }
/^#include/ { include[$2]++ }
/^[a-z].*\(/ && !/;/ { functions++; sum += depth($0) }
{ for (i = 1; i <= NF; i++) { count[$i]++; width += length($i) } }
/[0-9]+/ { n = gsub(/[0-9]+/, "<&>"); numbers += n }
$1 ~ /^(if|while|for)$/ { branches[$1]++ }
{ if (match($0, /[A-Z_]{4,}/)) caps[substr($0, RSTART, RLENGTH)]++ }
END {
    for (w in count) { if (count[w] > 200) often++; total += count[w] }
    for (c in caps) n_caps++
    print NR, functions, sum, width, numbers, often, total, n_caps, branches["if"], length(include)
}
