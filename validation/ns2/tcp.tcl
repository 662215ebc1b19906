# One TCP connection over one bottleneck of 10 Mbit/s with a round trip of 100 ms.
# Prints goodput in bit/s between FROM and TO, the 40 B of the SYN included.
if {$argc != 8} { puts stderr "usage: ns tcp.tcl AGENT SINK LOSS QUEUE LIMIT SEED FROM TO"; exit 2 }
lassign $argv agent sink loss queue limit seed from to
ns-random $seed
set ns [new Simulator]
set near [$ns node]; set left [$ns node]; set right [$ns node]; set far [$ns node]
$ns duplex-link $near $left 1Gb 1ms DropTail
$ns duplex-link $right $far 1Gb 1ms DropTail
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set thresh_ 25
Queue/RED set maxthresh_ 125
Queue/RED set q_weight_ 0.002
$ns simplex-link $left $right 10Mb 48ms $queue
$ns simplex-link $right $left 10Mb 48ms DropTail
$ns queue-limit $left $right $limit
$ns queue-limit $right $left 10000
if {$loss > 0} {
    set model [new ErrorModel]
    $model unit pkt
    $model set rate_ $loss
    set uniform [new RandomVariable/Uniform]
    $uniform use-rng [new RNG]
    $model ranvar $uniform
    $model drop-target [new Agent/Null]
    $ns link-lossmodel $model $left $right
}
Agent/TCP set window_ 100000
Agent/TCP set packetSize_ 1000
Agent/TCP set useHeaders_ false
set tcp [new Agent/TCP/$agent]
set end [new Agent/TCPSink$sink]
$ns attach-agent $near $tcp
$ns attach-agent $far $end
$ns connect $tcp $end
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0.0 "$ftp start"
proc mark {} { global end before; set before [$end set bytes_] }
proc finish {} {
    global end before from to
    puts [expr ([$end set bytes_] - $before) * 8.0 / ($to - $from)]
    exit 0
}
$ns at $from mark
$ns at $to finish
$ns run
