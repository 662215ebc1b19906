// A controller in Go: half a second of packets, each reported, and what the controller makes of it.
//
//	go run .
package main

// #cgo pkg-config: seaway
// #include <seaway.h>
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"os"
	"unsafe"
)

const millisecond = 1_000_000

func must(status C.SeawayStatus) {
	if status < 0 {
		fmt.Fprintln(os.Stderr, C.GoString(C.seaway_last_error()))
		os.Exit(1)
	}
}

func main() {
	spec := C.CString("seaway")
	defer C.free(unsafe.Pointer(spec))
	flow := C.SeawayFlow{packet_bytes: 1200, min_bps: 150_000, start_bps: 300_000, max_bps: 4_000_000}
	flow.struct_size = C.uint32_t(unsafe.Sizeof(flow))
	var controller *C.SeawayController
	must(C.seaway_controller_new(spec, &flow, &controller))
	defer C.seaway_controller_free(controller)

	packet := C.SeawayPacket{bytes: 1200, backlog_bytes: 1200}
	packet.struct_size = C.uint32_t(unsafe.Sizeof(packet))
	var results []C.SeawayPacketResult
	now := C.uint64_t(0)
	for ; now < 500*millisecond; now += 10 * millisecond {
		result := C.SeawayPacketResult{received: 1, arrival_ns: now + 20*millisecond, has_arrival: 1}
		result.struct_size = C.uint32_t(unsafe.Sizeof(result))
		must(C.seaway_controller_on_sent(controller, now, &packet, &result.id, nil))
		if results = append(results, result); len(results) == 5 {
			must(C.seaway_controller_on_report(controller, now, &results[0], C.size_t(len(results)), 0))
			results = results[:0]
		}
	}
	var target C.SeawayTarget
	target.struct_size = C.uint32_t(unsafe.Sizeof(target))
	must(C.seaway_controller_target(controller, &target))
	fmt.Printf("%s: %d bit/s\n", C.GoString(&target.phase[0]), uint64(target.rate_bps))
}
