# SPDX-License-Identifier: GPL-2.0-or-later
# Word counts, line lengths and a rewriting of C text: fields, hashes, regular expressions, string building.
{
    chars += length($0)
    for (i = 1; i <= NF; i++)
        count[$i]++
}
/^[a-z].*\(.*\)/ { functions++ }
/if *\(.*&&.*\)/ { gsub(/&&/, "and"); rewritten += length($0) }
{ line = $0; sub(/^[ \t]+/, "", line); depth[length($0) - length(line)]++ }
END {
    for (w in count)
        if (count[w] > best || (count[w] == best && w < word)) { best = count[w]; word = w }
    n = 0
    for (w in count) n++
    print NR, chars, n, word, best, functions, rewritten, depth[4]
}
