# Numbered lines with their lengths and first words; words in all.
{
    for (i = 1; i <= NF; i++) if (length($i) > 3) long++
    if (NR % 3 == 1) print NR, length($0), $1, long
}
