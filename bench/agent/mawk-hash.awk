# How often each line occurs, by the line itself and by what precedes it.
{
    count[$0]++
    if (($0 SUBSEP before) in pair) again++
    pair[$0, before] = NR
    before = $0
    if (count[$0] > most) { most = count[$0]; line = $0 }
}
END { print most, again; print line }
