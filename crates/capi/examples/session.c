/* A sender and a receiver in one program; an application has its encoder and its decoder in place of the octets here.
 *
 *     cc session.c $(pkg-config --cflags --libs seaway) && ./a.out
 */
#include <seaway.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Frames that arrived as they left. */
static atomic_int whole;

/* A key frame: parameter sets and a picture, behind start codes. */
static const uint8_t FRAME[6000] = {0, 0, 0, 1, 0x67, 0x42, 0xc0, 0x1e, 0, 0, 0, 1, 0x68, 0xce, 0x3c, 0x80,
                                    0, 0, 0, 1, 0x65, 0x88, 0x84, 1};

static void on_frame(void *user, const SeawayReceivedFrame *frame)
{
    (void)user;
    if (frame->is_key && frame->length >= sizeof FRAME - 8)
        atomic_fetch_add(&whole, 1);
}

static int failed(void)
{
    fprintf(stderr, "%s\n", seaway_last_error());
    return 1;
}

int main(void)
{
    SeawayReceiverConfig receiving = {.struct_size = sizeof receiving, .bind = "127.0.0.1:0", .on_frame = on_frame};
    SeawayReceiver *receiver = NULL;
    if (seaway_receiver_new(&receiving, &receiver) < 0)
        return failed();
    SeawayReceiverState received = {.struct_size = sizeof received};
    if (seaway_receiver_state(receiver, &received) < 0)
        return failed();

    SeawaySenderConfig sending = {.struct_size = sizeof sending, .to = received.local, .min_bps = 150000,
                                  .start_bps = 1000000, .max_bps = 4000000};
    SeawaySender *sender = NULL;
    if (seaway_sender_new(&sending, &sender) < 0)
        return failed();

    uint8_t frame[sizeof FRAME];
    memcpy(frame, FRAME, sizeof frame);
    memset(frame + 24, 0x55, sizeof frame - 24);
    SeawaySenderState sent = {.struct_size = sizeof sent};
    for (int index = 0; index < 200 && whole < 10; index++) {
        uint64_t now;
        SeawayFrameControls controls = {.struct_size = sizeof controls};
        if (seaway_sender_now(sender, &now) < 0 || seaway_sender_controls(sender, &controls) < 0)
            return failed();
        if (controls.skip ? seaway_sender_skip_frame(sender) < 0
                          : seaway_sender_send_frame(sender, frame, sizeof frame, 1, now, sizeof frame, 50000000) < 0)
            return failed();
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        if (seaway_sender_state(sender, &sent) < 0 || seaway_receiver_state(receiver, &received) < 0)
            return failed();
    }
    seaway_sender_free(sender);
    seaway_receiver_free(receiver);
    printf("%d frames came whole\n", whole);
    return whole < 10;
}
