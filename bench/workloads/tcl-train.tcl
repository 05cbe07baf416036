# SPDX-License-Identifier: GPL-2.0-or-later
# Words, towers and curves: to train on, not to measure by.
proc words {times} {
    set text "when shall we three meet again in thunder lightning or in rain "
    array set count {}
    for {set k 0} {$k < $times} {incr k} {
        foreach w [split [string trim "$text$k"]] {
            if {[info exists count($w)]} { incr count($w) } else { set count($w) 1 }
        }
    }
    set list {}
    foreach w [array names count] { lappend list [list $w $count($w)] }
    return [lindex [lsort -integer -decreasing -index 1 $list] 0]
}

proc hanoi {n from to by} {
    if {$n == 0} { return 0 }
    set moves [hanoi [expr {$n - 1}] $from $by $to]
    incr moves
    incr moves [hanoi [expr {$n - 1}] $by $to $from]
    return $moves
}

proc curve {steps} {
    set x 0.1
    set sum 0.0
    for {set i 0} {$i < $steps} {incr i} {
        set x [expr {3.7 * $x * (1 - $x)}]
        if {$x > 0.5} { set sum [expr {$sum + $x}] } elseif {$i % 3 == 1} { set sum [expr {$sum - 1.0}] }
    }
    return [format %.3f $sum]
}

proc records {n} {
    set out {}
    for {set i 0} {$i < $n} {incr i} {
        set record [dict create id $i name "user[expr {$i % 97}]" tags [list a$i b c]]
        if {[regexp -nocase {user([0-9]+)} [dict get $record name] -> number]} { dict set record number $number }
        dict lappend out [dict get $record name] [dict get $record number]
    }
    set n 0
    dict for {name list} $out { incr n [llength [lsort -integer -unique $list]] }
    return "$n [string length [join [dict keys $out] ,]] [string toupper [string range [dict keys $out] 0 6]]"
}

for {set round 0} {$round < 4} {incr round} {
    puts "[words 6000] [hanoi 13 a b c] [curve 90000] [records 9000]"
}
