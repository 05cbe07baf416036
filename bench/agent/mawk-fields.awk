# The beginnings of words, and the kinds of lines.
{
    for (i = 1; i <= NF; i++) {
        begin = tolower(substr($i, 1, 3))
        end = substr($i, length($i) - 1)
        ends[end] += i
        count[begin]++
        if (length($i) > 12 && index($0, toupper($i))) long++
    }
    if ($1 == "int") ints++
    else if ($1 == "/*") comments++
}
END { print count["the"], ends["es"], long, ints, comments }
