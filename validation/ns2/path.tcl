# TFRC and TCP connections over one bottleneck: a drop-tail or RED queue, a channel that loses packets behind it.
# Reads KEY VALUE pairs; prints in one line, of what happened between `from` and `to`:
# octets that arrived of each TFRC connection and in order of each TCP connection, then a bar, then the mean wait in
# the bottleneck's queue in seconds, the packets that came to that queue and the packets it dropped.
array set option {
    tfrcs 0 tcps 0 agent Sack1 sink /Sack1 rate 15e6 delay 0.048 packet 1000 queue DropTail limit 125
    loss 0 spread 5.0 seed 1 from 20 to 120 watch 1
}
foreach {key value} $argv {
    if {![info exists option($key)]} { puts stderr "no such option: $key"; exit 2 }
    set option($key) $value
}
ns-random $option(seed)
set ns [new Simulator]
set near [$ns node]; set left [$ns node]; set right [$ns node]; set far [$ns node]
$ns duplex-link $near $left 1Gb 1ms DropTail
$ns duplex-link $right $far 1Gb 1ms DropTail
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set thresh_ 25
Queue/RED set maxthresh_ 125
Queue/RED set q_weight_ 0.002
Queue/RED set mean_pktsize_ $option(packet)
$ns simplex-link $left $right $option(rate) $option(delay) $option(queue)
$ns simplex-link $right $left $option(rate) $option(delay) DropTail
foreach {a b} [list $near $left $left $near $right $far $far $right $right $left] { $ns queue-limit $a $b 10000 }
$ns queue-limit $left $right $option(limit)
if {$option(loss) > 0} {
    set model [new ErrorModel]
    $model unit pkt
    $model set rate_ $option(loss)
    set uniform [new RandomVariable/Uniform]
    $uniform use-rng [new RNG]
    $model ranvar $uniform
    $model drop-target [new Agent/Null]
    # Behind the transmitter and its delay: what is lost has used the queue and the link.
    set delay [[$ns link $left $right] set link_]
    $model target [$delay target]
    $delay target $model
}
Agent/TFRC set useHeaders_ false
Agent/TCP set window_ 100000
Agent/TCP set packetSize_ $option(packet)
Agent/TCP set useHeaders_ false
set starts [new RandomVariable/Uniform]
$starts use-rng [new RNG]
$starts set min_ 0.0
$starts set max_ $option(spread)
set ends {}
for {set i 0} {$i < $option(tfrcs)} {incr i} {
    set agent [new Agent/TFRC]
    $agent set packetSize_ $option(packet)
    $agent set fid_ $i
    set end [new Agent/TFRCSink]
    $ns attach-agent $near $agent
    $ns attach-agent $far $end
    $ns connect $agent $end
    $ns at [$starts value] "$agent start"
    lappend ends $end
}
for {set i 0} {$i < $option(tcps)} {incr i} {
    set agent [new Agent/TCP/$option(agent)]
    set end [new Agent/TCPSink$option(sink)]
    $ns attach-agent $near $agent
    $ns attach-agent $far $end
    $ns connect $agent $end
    set ftp [new Application/FTP]
    $ftp attach-agent $agent
    $ns at [$starts value] "$ftp start"
    lappend ends $end
}
if {$option(watch)} { set monitor [$ns monitor-queue $left $right ""] }
proc readings {} {
    global ends monitor option
    set all {}
    foreach end $ends { lappend all [$end set bytes_] }
    if {$option(watch)} {
        set integral [$monitor get-pkts-integrator]
        lappend all [$integral set sum_]
        foreach count {parrivals_ pdrops_ pdepartures_} { lappend all [$monitor set $count] }
    }
    return $all
}
proc mark {} { global before; set before [readings] }
proc finish {} {
    global before option
    set line {}
    set differences {}
    foreach old $before new [readings] { lappend differences [expr $new - $old] }
    set flows [expr $option(tfrcs) + $option(tcps)]
    set line [lrange $differences 0 [expr $flows - 1]]
    if {$option(watch)} {
        lassign [lrange $differences $flows end] integral arrivals drops departures
        lappend line | [expr $departures > 0 ? double($integral) / $departures : 0] $arrivals $drops
    }
    puts $line
    exit 0
}
$ns at $option(from) mark
$ns at $option(to) finish
$ns run
