# SPDX-License-Identifier: GPL-2.0-or-later
# Word counts, line lengths and a rewriting of C text: fields, hashes, regular expressions, string building. Each
# file for itself, so that one named twice is the same work twice.
function report(    w, n, best, word)
{
    for (w in count)
        if (count[w] > best || (count[w] == best && w < word)) { best = count[w]; word = w }
    n = 0
    for (w in count) n++
    print lines, chars, n, word, best, functions, rewritten, depth[4]
    split("", count)
    split("", depth)
    lines = chars = functions = rewritten = 0
}
FNR == 1 && NR > 1 { report() }
{
    lines++
    chars += length($0)
    for (i = 1; i <= NF; i++)
        count[$i]++
}
/^[a-z].*\(.*\)/ { functions++ }
/if *\(.*&&.*\)/ { gsub(/&&/, "and"); rewritten += length($0) }
{ line = $0; sub(/^[ \t]+/, "", line); depth[length($0) - length(line)]++ }
END { report() }
