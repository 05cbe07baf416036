# SPDX-License-Identifier: GPL-2.0-or-later
# Stock keeping: dictionaries, lists, text, arithmetic, recursion.
set seed 11
proc random {n} { global seed; set seed [expr {($seed * 16807) % 2147483647}]; return [expr {$seed % $n}] }

proc stock {n} {
    set items {}
    for {set i 0} {$i < $n} {incr i} {
        set name "part-[random 400]"
        if {[dict exists $items $name]} {
            dict incr items $name [random 9]
        } else {
            dict set items $name 1
        }
    }
    set total 0
    foreach {name count} $items { incr total [expr {$count * [string length $name]}] }
    set names [lsort -command {apply {{a b} {string compare $a $b}}} [dict keys $items]]
    return "$total [lindex $names 3] [llength $names]"
}

proc matches {n} {
    set found 0
    for {set i 0} {$i < $n} {incr i} {
        set line "2024-0[expr {1 + $i % 9}]-1[expr {$i % 10}] host[random 30] status=[random 600]"
        if {[regexp {^(\d+)-(\d+)-(\d+) (host\d+) status=([345]\d\d)$} $line all year month day host status]} {
            incr found [string length $host$status]
        }
        incr found [llength [split [string map {- { } = { }} $line]]]
    }
    return $found
}

proc ackermann {m n} {
    if {$m == 0} { return [expr {$n + 1}] }
    if {$n == 0} { return [ackermann [expr {$m - 1}] 1] }
    return [ackermann [expr {$m - 1}] [ackermann $m [expr {$n - 1}]]]
}

proc primes {limit} {
    set list {}
    for {set i 2} {$i < $limit} {incr i} {
        set prime 1
        foreach p $list {
            if {$p * $p > $i} break
            if {$i % $p == 0} { set prime 0; break }
        }
        if {$prime} { lappend list $i }
    }
    return [llength $list]
}

for {set round 0} {$round < 4} {incr round} {
    puts "[stock 40000] [matches 12000] [ackermann 2 60] [primes 25000]"
}
