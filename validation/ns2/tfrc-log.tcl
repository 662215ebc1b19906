# One TFRC flow over 1 Mbit/s and 40 ms each way with 20 packets of queue: alone, beside 600 kbit/s from 15 to 25 s, and
# with every 40th packet lost at random from 30 s on. Writes a trace of the link; prints the sender's rate, looked at
# each 0.1 ms, where it changed: seconds and bytes a second.
if {$argc != 1} { puts stderr "usage: ns tfrc-log.tcl TRACE"; exit 2 }
set ns [new Simulator]
ns-random 7
set near [$ns node]; set far [$ns node]
$ns simplex-link $near $far 1Mb 40ms DropTail
$ns simplex-link $far $near 1Mb 40ms DropTail
$ns queue-limit $near $far 20
set trace [open [lindex $argv 0] w]
$ns trace-queue $near $far $trace
set model [new ErrorModel]
$model unit pkt
$model set rate_ 0.0
set uniform [new RandomVariable/Uniform]
$uniform use-rng [new RNG]
$model ranvar $uniform
$model drop-target [new Agent/Null]
$ns link-lossmodel $model $near $far
Agent/TFRC set packetSize_ 1000
Agent/TFRC set useHeaders_ false
set tfrc [new Agent/TFRC]
set sink [new Agent/TFRCSink]
$ns attach-agent $near $tfrc
$ns attach-agent $far $sink
$ns connect $tfrc $sink
set udp [new Agent/UDP]
set null [new Agent/Null]
$ns attach-agent $near $udp
$ns attach-agent $far $null
$ns connect $udp $null
set cbr [new Application/Traffic/CBR]
$cbr attach-agent $udp
$cbr set packetSize_ 1000
$cbr set rate_ 600kb
proc sample {} {
    global ns tfrc last
    set rate [$tfrc set rate_]
    if {$rate != $last} { puts "[$ns now] [set last $rate]" }
    $ns at [expr [$ns now] + 0.0001] sample
}
set last 0
$ns at 0.0 "$tfrc start"
$ns at 0.00005 sample
$ns at 15.0 "$cbr start"
$ns at 25.0 "$cbr stop"
$ns at 30.0 "$model set rate_ 0.025"
$ns at 45.0 { close $trace; exit 0 }
$ns run
