/* A controller on a transport of its own: here a link of 1 Mbit/s and 40 ms with a queue of 300 ms, in simulated time.
 *
 *     cc controller.c $(pkg-config --cflags --libs seaway) && ./a.out nada
 */
#include <inttypes.h>
#include <seaway.h>
#include <stdio.h>
#include <stdlib.h>

#define MS UINT64_C(1000000)
#define PACKET 1200
#define LINK_BPS UINT64_C(1000000)
#define REPORT (50 * MS)

static void must(SeawayStatus status)
{
    if (status < 0) {
        fprintf(stderr, "%s\n", seaway_last_error());
        exit(1);
    }
}

/* When the link has served what it holds. */
static uint64_t busy_until;

/* When a packet arrives that left now; 0 where the queue has no room. */
static uint64_t arrival(uint64_t now)
{
    uint64_t start = busy_until > now ? busy_until : now;
    if (start - now > 300 * MS)
        return 0;
    busy_until = start + PACKET * 8 * UINT64_C(1000000000) / LINK_BPS;
    return busy_until + 20 * MS;
}

int main(int argc, char **argv)
{
    SeawayFlow flow = {.struct_size = sizeof flow, .packet_bytes = PACKET,
                       .min_bps = 150000, .start_bps = 300000, .max_bps = 4000000};
    SeawayController *controller = NULL;
    must(seaway_controller_new(argc > 1 ? argv[1] : "nada", &flow, &controller));

    static SeawayPacketResult results[1 << 16];
    size_t sent = 0, reported = 0;
    uint64_t next_packet = 0, next_report = REPORT, decisions = 0, delivered = 0;
    for (uint64_t now = 0; now < 60000 * MS; now += MS) {
        uint64_t due;
        if (seaway_controller_poll_timeout(controller, &due) == SEAWAY_STATUS_OK && due <= now)
            must(seaway_controller_handle_timeout(controller, now));
        while (next_packet <= now && sent < sizeof results / sizeof *results) {
            SeawayAllowance allowance = {.struct_size = sizeof allowance};
            must(seaway_controller_allowance(controller, 0, &allowance));
            if (allowance.rate_bps == 0 || (allowance.has_window && allowance.window_bytes < PACKET))
                break;
            SeawayPacket packet = {.struct_size = sizeof packet, .bytes = PACKET, .backlog_bytes = PACKET};
            SeawayPacketResult *result = &results[sent++];
            *result = (SeawayPacketResult){.struct_size = sizeof *result, .has_arrival = 1};
            must(seaway_controller_on_sent(controller, now, &packet, &result->id, NULL));
            result->arrival_ns = arrival(now);
            next_packet = now + PACKET * 8 * UINT64_C(1000000000) / allowance.rate_bps + allowance.gap_ns + 1;
        }
        if (now == next_report) {
            /* What arrived 20 ms ago and earlier is in the report that comes now; what never arrives is in none. */
            size_t count = 0;
            static SeawayPacketResult report[1 << 16];
            while (reported < sent && results[reported].arrival_ns + 20 * MS <= now) {
                SeawayPacketResult *result = &results[reported++];
                if (result->arrival_ns) {
                    result->received = 1;
                    report[count++] = *result;
                }
            }
            delivered += count;
            must(seaway_controller_on_report(controller, now, report, count, 0));
            next_report += REPORT;
        }
        SeawayDecision decision = {.struct_size = sizeof decision};
        while (seaway_controller_poll_decision(controller, &decision) == SEAWAY_STATUS_OK) {
            if (decisions++ < 5)
                printf("%6.3f s: %s, %" PRIu64 " -> %" PRIu64 " kbit/s\n", decision.at_ns / 1e9, decision.cause,
                       decision.before_bps / 1000, decision.after_bps / 1000);
        }
    }
    SeawayTarget target = {.struct_size = sizeof target};
    must(seaway_controller_target(controller, &target));
    printf("%s, %s: %" PRIu64 " kbit/s, %" PRIu64 " packets arrived, %" PRIu64 " decisions\n", seaway_version(),
           target.phase, target.rate_bps / 1000, delivered, decisions);
    seaway_controller_free(controller);
    return 0;
}
