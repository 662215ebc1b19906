# TFRC and TCP connections over one bottleneck of 15 Mbit/s with a round trip of 100 ms.
# Prints goodput of TCP in bit/s between FROM and TO, all connections together.
if {$argc != 6} { puts stderr "usage: ns share.tcl TFRCS TCPS LIMIT SEED FROM TO"; exit 2 }
lassign $argv tfrcs tcps limit seed from to
ns-random $seed
set ns [new Simulator]
set near [$ns node]; set left [$ns node]; set right [$ns node]; set far [$ns node]
$ns duplex-link $near $left 1Gb 1ms DropTail
$ns duplex-link $right $far 1Gb 1ms DropTail
$ns simplex-link $left $right 15Mb 48ms DropTail
$ns simplex-link $right $left 15Mb 48ms DropTail
$ns queue-limit $near $left 10000
$ns queue-limit $far $right 10000
$ns queue-limit $left $right $limit
$ns queue-limit $right $left 10000
Agent/TCP set window_ 100000
Agent/TCP set packetSize_ 1000
Agent/TCP set useHeaders_ false
set starts [new RandomVariable/Uniform]
$starts use-rng [new RNG]
$starts set min_ 0.0
$starts set max_ 5.0
set tcp_ends {}
for {set i 0} {$i < $tfrcs} {incr i} {
    set agent [new Agent/TFRC]
    $agent set packetSize_ 1000
    $agent set fid_ $i
    set end [new Agent/TFRCSink]
    $ns attach-agent $near $agent
    $ns attach-agent $far $end
    $ns connect $agent $end
    $ns at [$starts value] "$agent start"
}
for {set i 0} {$i < $tcps} {incr i} {
    set agent [new Agent/TCP/Sack1]
    set end [new Agent/TCPSink/Sack1]
    $ns attach-agent $near $agent
    $ns attach-agent $far $end
    $ns connect $agent $end
    set ftp [new Application/FTP]
    $ftp attach-agent $agent
    $ns at [$starts value] "$ftp start"
    lappend tcp_ends $end
}
proc total {ends variable} {
    set sum 0
    foreach end $ends { set sum [expr $sum + [$end set $variable]] }
    return $sum
}
proc mark {} { global before tcp_ends; set before [total $tcp_ends bytes_] }
proc finish {} {
    global before tcp_ends from to
    puts [expr ([total $tcp_ends bytes_] - $before) * 8.0 / ($to - $from)]
    exit 0
}
$ns at $from mark
$ns at $to finish
$ns run
