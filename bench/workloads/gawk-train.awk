# SPDX-License-Identifier: GPL-2.0-or-later
# Another reader of text, to train on: indices, paragraphs, sorting by hand, formats.
BEGIN { FS = "[ \t(),;]+" }
NF > 2 { first[tolower($1)] = first[tolower($1)] + NF; last = $NF }
{ line = $0; sub(/^[ \t]+/, "", line); if (line == "") { paragraphs++; next } }
line ~ /^(\/\*|\*)/ { comments++; words += split(line, w, / /); for (k in w) if (w[k] ~ /^[a-z]+ing$/) gerunds++ }
index(line, "return") { returns[substr(line, index(line, "return") + 7, 12)]++ }
{ text = sprintf("%-8.8s|%5d", line, NR); if (text ~ /[{}]/) braces++; sizes[length(line)]++ }
END {
    for (i = 0; i < 200; i++) { if (sizes[i] > most) { most = sizes[i]; at = i } }
    for (r in returns) if (returns[r] > best) { best = returns[r]; what = r }
    for (f in first) { n++; t += first[f] }
    print paragraphs, comments, words, gerunds, braces, at, most, what, n, t, last
}
