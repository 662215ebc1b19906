/* Seaway: rate controllers for any transport, and live sessions. Made from the sources: do not edit.
 *
 * A structure begins with its size, which the caller sets: a library of another version refuses it rather than misreads it.
 * A pointer points to an object of its type or is null; texts end with a zero. A handle is used by one thread at a time.
 * A function that fails changes nothing and returns a number below zero; seaway_last_error() gives the reason.
 * The functions of senders and receivers need a library that was built with the feature "stream", which is on by default.
 */

#ifndef SEAWAY_H
#define SEAWAY_H

#include <stddef.h>
#include <stdint.h>

// Text in a structure, which ends with a zero and is cut to this length.
#define SEAWAY_TEXT 64

// `content`: a part of a frame.
#define SEAWAY_CONTENT_MEDIA 0

// `content`: a retransmitted part of a frame.
#define SEAWAY_CONTENT_RETRANSMISSION 1

// `content`: forward error correction.
#define SEAWAY_CONTENT_FEC 2

// `content`: padding of a probe.
#define SEAWAY_CONTENT_PADDING 3

// The result of a call. After a status below zero nothing was changed or written, and `seaway_last_error` gives the reason.
enum SeawayStatus
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The call succeeded.
  SEAWAY_STATUS_OK = 0,
  // There is no (further) result.
  SEAWAY_STATUS_NONE = 1,
  // A pointer is null.
  SEAWAY_STATUS_NULL_POINTER = -1,
  // `struct_size` is not that of the structure in this version of the library.
  SEAWAY_STATUS_STRUCT_SIZE = -2,
  // A text, a number or a name is invalid.
  SEAWAY_STATUS_INVALID_ARGUMENT = -3,
  // Time ran back.
  SEAWAY_STATUS_TIME_RAN_BACK = -4,
  // The system refuses a socket, a thread or random numbers, or the codec failed.
  SEAWAY_STATUS_SYSTEM = -5,
  // An internal fault of this library. Every later call with the handle returns this; free it.
  SEAWAY_STATUS_PANICKED = -6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum SeawayStatus SeawayStatus;
#else
typedef int32_t SeawayStatus;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// A controller with both its halves. Times are nanoseconds of one clock of the caller's, which never runs back.
typedef struct SeawayController SeawayController;

// A live receiver with its threads.
typedef struct SeawayReceiver SeawayReceiver;

// A live sender with its media thread.
typedef struct SeawaySender SeawaySender;

// The configuration of a flow: its rates and its largest packet.
typedef struct SeawayFlow {
  // `sizeof(SeawayFlow)`.
  uint32_t struct_size;
  // The ECN codepoint that packets should carry where the controller responds to congestion marks: the two bits of the IP
  // header, 0 to 3.
  uint32_t ecn;
  // The largest packet in octets, as a whole IP datagram: 1 to 65535.
  uint64_t packet_bytes;
  // The lowest rate, in bits per second; above 0.
  uint64_t min_bps;
  // The first rate, for controllers without a slow start: from `min_bps` to `max_bps`.
  uint64_t start_bps;
  // The highest target: what the encoders can use, at most 10^12.
  uint64_t max_bps;
} SeawayFlow;

// A packet that leaves. With all fields zero except `struct_size` and `bytes` it is a media packet inside a frame, and no packet
// waits behind it.
typedef struct SeawayPacket {
  // `sizeof(SeawayPacket)`.
  uint32_t struct_size;
  // The index of its connection, below the count of `seaway_controller_subflows`.
  uint32_t subflow;
  // The whole IP datagram in octets, headers included: 1 to 65535.
  uint64_t bytes;
  // Octets that wait behind it; 0 means that the flow is application-limited.
  uint64_t backlog_bytes;
  // One of `SEAWAY_CONTENT_…`.
  uint32_t content;
  // The number of its encoder, 0 to 255.
  uint32_t stream;
  // 1 where it belongs to a probe, else 0.
  uint32_t is_probe;
  // The probe's `id`.
  uint32_t probe;
  // 1 where it is the last of its frame, else 0.
  uint32_t ends_frame;
  // Zero.
  uint32_t reserved;
} SeawayPacket;

// The marking of a packet.
typedef struct SeawayMarking {
  // `sizeof(SeawayMarking)`.
  uint32_t struct_size;
  // The ECN codepoint of the IP header.
  uint32_t ecn;
  // 1 where `tag` is set. It is for the receiving half, which runs here, so it need not be sent.
  uint32_t has_tag;
  // The controller's own number of the packet.
  uint32_t tag;
} SeawayMarking;

// The result of one packet in a report.
typedef struct SeawayPacketResult {
  // `sizeof(SeawayPacketResult)`.
  uint32_t struct_size;
  // 1 if it arrived, 0 if the report lists it as lost. A packet that no report lists counts as lost when later ones have arrived or
  // after a timeout.
  uint32_t received;
  // The id from `seaway_controller_on_sent`.
  uint64_t id;
  // The arrival time in nanoseconds of the receiver's clock, from any origin.
  uint64_t arrival_ns;
  // 1 where the report has `arrival_ns`.
  uint32_t has_arrival;
  // The ECN codepoint with which it arrived.
  uint32_t ecn;
} SeawayPacketResult;

// A burst by which a controller learns the capacity: padding fills it where media does not.
typedef struct SeawayProbe {
  // `sizeof(SeawayProbe)`.
  uint32_t struct_size;
  // Its id, for `probe` of `SeawayPacket`.
  uint32_t id;
  // The rate to send it at, in bits per second.
  uint64_t rate_bps;
  // The least number of octets.
  uint64_t bytes;
  // The least number of packets.
  uint32_t packets;
  // Zero.
  uint32_t reserved;
} SeawayProbe;

// Why a rate or a phase changed.
typedef struct SeawayDecision {
  // `sizeof(SeawayDecision)`.
  uint32_t struct_size;
  // Zero.
  uint32_t reserved;
  // When, in nanoseconds.
  uint64_t at_ns;
  // The rate before, in bits per second.
  uint64_t before_bps;
  // The rate after.
  uint64_t after_bps;
  // The value of the signal that caused it.
  double signal_value;
  // The value that it was compared with, in the same unit.
  double threshold;
  // The rule that fired: "loss event".
  char cause[SEAWAY_TEXT];
  // The name of the signal: "loss_event_rate".
  char signal[SEAWAY_TEXT];
  // Its unit: "s", "ms", "bit/s", "B", or empty for a pure number.
  char unit[SEAWAY_TEXT];
  // The phase from then on.
  char phase[SEAWAY_TEXT];
} SeawayDecision;

// The rate that media and its repair may use together.
typedef struct SeawayTarget {
  // `sizeof(SeawayTarget)`.
  uint32_t struct_size;
  // Zero.
  uint32_t reserved;
  // Rate of whole IP datagrams, in bits per second.
  uint64_t rate_bps;
  // Loss of the channel, which a lower rate would not reduce, 0 to 1: repair should cover it.
  double channel_loss;
  // The controller's phase in a word or two: "slow start".
  char phase[SEAWAY_TEXT];
} SeawayTarget;

// What one subflow may send: its next packet is due at the later of `due of the last + bytes / rate + gap` and `now - credit`, if
// it fits in the window.
typedef struct SeawayAllowance {
  // `sizeof(SeawayAllowance)`.
  uint32_t struct_size;
  // 1 where `window_bytes` bounds what may leave now.
  uint32_t has_window;
  // Pacing rate in bits per second; at 0 nothing leaves, at UINT64_MAX the window alone holds.
  uint64_t rate_bps;
  // Pause behind each packet, in nanoseconds.
  uint64_t gap_ns;
  // For how long unused rate may be caught up, in nanoseconds.
  uint64_t credit_ns;
  // What may leave now, in octets.
  uint64_t window_bytes;
} SeawayAllowance;

// Receives an internal value of a controller: its name, the value and its unit. The texts are valid during the call.
typedef void (*SeawayGauge)(void *user, const char *name, double value, const char *unit);

// A complete frame, whose references came before it.
typedef struct SeawayReceivedFrame {
  // `sizeof(SeawayReceivedFrame)`.
  uint32_t struct_size;
  // 1 where decoding can begin with it, else 0.
  uint32_t is_key;
  // The coded octets: an H.264 access unit in Annex B form. Valid during the call.
  const uint8_t *data;
  // The number of octets.
  size_t length;
  // When it is shown, in nanoseconds of the receiver's clock.
  uint64_t displayed_ns;
  // When it was captured, in ticks of 90 kHz modulo 2^32.
  uint32_t rtp_timestamp;
  // Zero.
  uint32_t reserved;
} SeawayReceivedFrame;

// Receives a frame, on a thread of the receiver. It must return soon and must not call a function of this receiver.
typedef void (*SeawayFrameCallback)(void *user, const struct SeawayReceivedFrame *frame);

// The configuration of a receiver. All fields may be zero except `struct_size`, `bind` and `on_frame`: it then receives on this host.
typedef struct SeawayReceiverConfig {
  // `sizeof(SeawayReceiverConfig)`.
  uint32_t struct_size;
  // 1 to accept plain RTP from other hosts, else 0. Anyone who reaches the port can then send.
  uint32_t insecure;
  // The local address: "127.0.0.1:5004"; port 0 chooses a free port.
  const char *bind;
  // The key of the session, or null: 256 bits as base64url, 43 characters, as in the URL that `seaway recv` prints.
  const char *key;
  // How long after the least delay of the path a frame may be shown, in nanoseconds; 0 for 500 ms.
  uint64_t latency_ns;
  // Is called with each frame.
  SeawayFrameCallback on_frame;
  // Its first argument.
  void *user;
} SeawayReceiverConfig;

// The state of a receiver.
typedef struct SeawayReceiverState {
  // `sizeof(SeawayReceiverState)`.
  uint32_t struct_size;
  // 1 if one of its threads failed: it no longer receives.
  uint32_t failed;
  // Rate of whole IP datagrams over the last half second, in bits per second.
  uint64_t received_bps;
  // Packets lost after repair over packets expected in the last half second, 0 to 1.
  double loss_ratio;
  // Frames passed to `on_frame`.
  uint64_t frames;
  // Freezes that ended.
  uint64_t freezes;
  // The address at which it receives: "127.0.0.1:5004".
  char local[SEAWAY_TEXT];
} SeawayReceiverState;

// The configuration of a sender. All fields may be zero except `struct_size`, `to` and the rates: it then sends to this host with
// the default controller.
typedef struct SeawaySenderConfig {
  // `sizeof(SeawaySenderConfig)`.
  uint32_t struct_size;
  // 1 to allow plain RTP to another host, else 0. Anyone on the path can then see the video and replace it.
  uint32_t insecure;
  // The receiver: "192.0.2.7:5004" or "[2001:db8::7]:5004".
  const char *to;
  // The key of the session, or null: 256 bits as base64url, 43 characters, as in the URL that `seaway recv` prints.
  const char *key;
  // The controller, such as "nada"; null for the default one.
  const char *control;
  // The lowest rate of whole IP datagrams, in bits per second.
  uint64_t min_bps;
  // The first rate.
  uint64_t start_bps;
  // The highest rate.
  uint64_t max_bps;
  // The longest time from capture to display, without the least delay of the path, in nanoseconds; 0 for 500 ms.
  uint64_t latency_ns;
} SeawaySenderConfig;

// The settings of the encoder for the next frame.
typedef struct SeawayFrameControls {
  // `sizeof(SeawayFrameControls)`.
  uint32_t struct_size;
  // 1 once the receiver was found; with a key, once it has proved that it has the key. Frames before that are dropped.
  uint32_t connected;
  // The rate that frames may use, packet headers included, in bits per second.
  uint64_t rate_bps;
  // 1 if the next frame must be a key frame. Reading it clears it.
  uint32_t key_frame;
  // 1 if the send queue is full: skip this picture, and call `seaway_sender_skip_frame`.
  uint32_t skip;
} SeawayFrameControls;

// The state of a sender.
typedef struct SeawaySenderState {
  // `sizeof(SeawaySenderState)`.
  uint32_t struct_size;
  // 1 if the session has ended: another sender with the same key took over, or the circuit breaker of RFC 8083 ended it.
  uint32_t ended;
  // Rate of whole IP datagrams over the last half second, in bits per second.
  uint64_t sent_bps;
  // Lost packets over reported packets in the last half second, 0 to 1.
  double loss_ratio;
  // Packets sent.
  uint64_t packets;
  // Frames passed to `seaway_sender_send_frame`.
  uint64_t frames;
} SeawaySenderState;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The name of a controller; null beyond the last. It is valid for ever.
const char *seaway_controller_name(size_t index);

// Makes the controller that `spec` names, such as "nada" or "tfrc(count=4)".
//
// # Safety
// Pointers that are not null point to an object of their type.
SeawayStatus seaway_controller_new(const char *spec,
                                   const struct SeawayFlow *flow,
                                   struct SeawayController **controller);

// Frees a controller. Null is allowed.
//
// # Safety
// It is a handle that was not freed.
void seaway_controller_free(struct SeawayController *controller);

// A packet leaves now. Writes its marking to `marking` and the id that identifies it in reports to `id`; each may be null.
//
// # Safety
// Pointers that are not null point to an object of their type, and the handle is used by one thread at a time.
SeawayStatus seaway_controller_on_sent(struct SeawayController *controller,
                                       uint64_t now_ns,
                                       const struct SeawayPacket *packet,
                                       uint64_t *id,
                                       struct SeawayMarking *marking);

// A report arrived, with `count` results. `held_ns` is how long the receiver held its newest packet before it sent the report, in
// nanoseconds. Unknown ids are ignored. A report without results counts as a report.
//
// # Safety
// As for `seaway_controller_on_sent`; `results` points to `count` of them.
SeawayStatus seaway_controller_on_report(struct SeawayController *controller,
                                         uint64_t now_ns,
                                         const struct SeawayPacketResult *results,
                                         size_t count,
                                         uint64_t held_ns);

// The level and the size of the receiver's playout buffer, in octets. Call it before the report in which they arrived. For the
// controllers "buffer-type1" and "buffer-type2".
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_on_buffer(struct SeawayController *controller,
                                         uint32_t subflow,
                                         uint64_t held_bytes,
                                         uint64_t capacity_bytes);

// Changes the range of the rate, in bits per second; as in `SeawayFlow`.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_set_limits(struct SeawayController *controller,
                                          uint64_t now_ns,
                                          uint64_t min_bps,
                                          uint64_t start_bps,
                                          uint64_t max_bps);

// The size of the send queue, in octets, and how long the oldest packet has waited, in nanoseconds.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_on_backlog(struct SeawayController *controller,
                                          uint64_t now_ns,
                                          uint64_t waiting_bytes,
                                          uint64_t oldest_ns);

// The encoder `stream` made a frame: its octets, its target in octets, and the nanoseconds to the next frame, above 0.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_on_frame(struct SeawayController *controller,
                                        uint64_t now_ns,
                                        uint32_t stream,
                                        uint64_t bytes,
                                        uint64_t target_bytes,
                                        uint64_t interval_ns);

// The source paused, or resumed where `paused` is 0.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_set_paused(struct SeawayController *controller, uint64_t now_ns, uint32_t paused);

// The network path changed: base delays are measured anew.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_on_route_changed(struct SeawayController *controller, uint64_t now_ns);

// The instant of `seaway_controller_poll_timeout` has come. An early call changes nothing.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_handle_timeout(struct SeawayController *controller, uint64_t now_ns);

// When `seaway_controller_handle_timeout` is due, in nanoseconds; `SEAWAY_STATUS_NONE` where no timer runs. Any other call may change it.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_poll_timeout(struct SeawayController *controller,
                                            uint64_t *due_ns);

// The next probe to send. Call it until it returns `SEAWAY_STATUS_NONE`.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_poll_probe(struct SeawayController *controller,
                                          uint64_t now_ns,
                                          struct SeawayProbe *probe);

// The next change of the rate that was not read yet, oldest first. Call it until it returns `SEAWAY_STATUS_NONE`. If too many
// changes wait to be read, the newest are dropped.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_poll_decision(struct SeawayController *controller,
                                             struct SeawayDecision *decision);

// The rate that media and its repair may use together.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_target(struct SeawayController *controller, struct SeawayTarget *target);

// The allowance of a subflow: what it may send. It changes with each packet that leaves.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_allowance(struct SeawayController *controller,
                                         uint32_t subflow,
                                         struct SeawayAllowance *allowance);

// How many connections the flow has now, at least one.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_subflows(struct SeawayController *controller, uint64_t *count);

// Calls `visit` with every internal value of the controller. `visit` must not call the controller.
//
// # Safety
// As for `seaway_controller_on_sent`; `visit` returns and allows what `user` points to.
SeawayStatus seaway_controller_inspect(struct SeawayController *controller, SeawayGauge visit, void *user);

// Starts a receiver.
//
// # Safety
// Pointers that are not null point to an object of their type. `on_frame` can be called on another thread until the receiver is freed.
SeawayStatus seaway_receiver_new(const struct SeawayReceiverConfig *config,
                                 struct SeawayReceiver **receiver);

// Ends the session and frees the receiver; `on_frame` is not called any more when it returns. Null is allowed.
//
// # Safety
// It is a handle that was not freed, and this is not called by `on_frame`.
void seaway_receiver_free(struct SeawayReceiver *receiver);

// Requests a key frame from the sender, for a decoder that lost its references.
//
// # Safety
// The handle is used by one thread at a time.
SeawayStatus seaway_receiver_request_key_frame(struct SeawayReceiver *receiver);

// Processes the events since the last call and writes the state. Call it at least once a second.
//
// # Safety
// Pointers that are not null point to an object of their type, and the handle is used by one thread at a time.
SeawayStatus seaway_receiver_state(struct SeawayReceiver *receiver, struct SeawayReceiverState *state);

// Starts a sender.
//
// # Safety
// Pointers that are not null point to an object of their type.
SeawayStatus seaway_sender_new(const struct SeawaySenderConfig *config, struct SeawaySender **sender);

// Ends the session and frees the sender. Null is allowed.
//
// # Safety
// It is a handle that was not freed.
void seaway_sender_free(struct SeawaySender *sender);

// The present time of the session's clock in nanoseconds, for the capture times of frames.
//
// # Safety
// Pointers that are not null point to an object of their type, and the handle is used by one thread at a time.
SeawayStatus seaway_sender_now(struct SeawaySender *sender, uint64_t *now_ns);

// The settings of the encoder for the next frame.
//
// # Safety
// As for `seaway_sender_now`.
SeawayStatus seaway_sender_controls(struct SeawaySender *sender, struct SeawayFrameControls *controls);

// Sends a coded frame: an H.264 access unit in Annex B form, of 1 octet to 8 MiB. `captured_ns` is an instant of
// `seaway_sender_now`, `target_bytes` what the encoder aimed at, `interval_ns` the time to the next frame, above 0. Never blocks.
//
// # Safety
// As for `seaway_sender_now`; `data` points to `length` octets.
SeawayStatus seaway_sender_send_frame(struct SeawaySender *sender,
                                      const uint8_t *data,
                                      size_t length,
                                      uint32_t is_key,
                                      uint64_t captured_ns,
                                      uint64_t target_bytes,
                                      uint64_t interval_ns);

// A picture was captured and not encoded.
//
// # Safety
// As for `seaway_sender_now`.
SeawayStatus seaway_sender_skip_frame(struct SeawaySender *sender);

// Processes the events since the last call and writes the state. Call it at least once a second.
//
// # Safety
// As for `seaway_sender_now`.
SeawayStatus seaway_sender_state(struct SeawaySender *sender, struct SeawaySenderState *state);

// The reason why the last failed call of this thread failed, in English. Valid until the thread's next call. Empty before the first.
const char *seaway_last_error(void);

// The version of the library, such as "0.2.0".
const char *seaway_version(void);

// The reason why the last failed call of this thread failed, in English. Valid until the thread's next call. Empty before the first.
const char *seaway_last_error(void);

// The version of the library, such as "0.2.0".
const char *seaway_version(void);

// The name of a controller; null beyond the last. It is valid for ever.
const char *seaway_controller_name(size_t index);

// Makes the controller that `spec` names, such as "nada" or "tfrc(count=4)".
//
// # Safety
// Pointers that are not null point to an object of their type.
SeawayStatus seaway_controller_new(const char *spec,
                                   const struct SeawayFlow *flow,
                                   struct SeawayController **controller);

// Frees a controller. Null is allowed.
//
// # Safety
// It is a handle that was not freed.
void seaway_controller_free(struct SeawayController *controller);

// A packet leaves now. Writes its marking to `marking` and the id that identifies it in reports to `id`; each may be null.
//
// # Safety
// Pointers that are not null point to an object of their type, and the handle is used by one thread at a time.
SeawayStatus seaway_controller_on_sent(struct SeawayController *controller,
                                       uint64_t now_ns,
                                       const struct SeawayPacket *packet,
                                       uint64_t *id,
                                       struct SeawayMarking *marking);

// A report arrived, with `count` results. `held_ns` is how long the receiver held its newest packet before it sent the report, in
// nanoseconds. Unknown ids are ignored. A report without results counts as a report.
//
// # Safety
// As for `seaway_controller_on_sent`; `results` points to `count` of them.
SeawayStatus seaway_controller_on_report(struct SeawayController *controller,
                                         uint64_t now_ns,
                                         const struct SeawayPacketResult *results,
                                         size_t count,
                                         uint64_t held_ns);

// The level and the size of the receiver's playout buffer, in octets. Call it before the report in which they arrived. For the
// controllers "buffer-type1" and "buffer-type2".
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_on_buffer(struct SeawayController *controller,
                                         uint32_t subflow,
                                         uint64_t held_bytes,
                                         uint64_t capacity_bytes);

// Changes the range of the rate, in bits per second; as in `SeawayFlow`.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_set_limits(struct SeawayController *controller,
                                          uint64_t now_ns,
                                          uint64_t min_bps,
                                          uint64_t start_bps,
                                          uint64_t max_bps);

// The size of the send queue, in octets, and how long the oldest packet has waited, in nanoseconds.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_on_backlog(struct SeawayController *controller,
                                          uint64_t now_ns,
                                          uint64_t waiting_bytes,
                                          uint64_t oldest_ns);

// The encoder `stream` made a frame: its octets, its target in octets, and the nanoseconds to the next frame, above 0.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_on_frame(struct SeawayController *controller,
                                        uint64_t now_ns,
                                        uint32_t stream,
                                        uint64_t bytes,
                                        uint64_t target_bytes,
                                        uint64_t interval_ns);

// The source paused, or resumed where `paused` is 0.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_set_paused(struct SeawayController *controller, uint64_t now_ns, uint32_t paused);

// The network path changed: base delays are measured anew.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_on_route_changed(struct SeawayController *controller, uint64_t now_ns);

// The instant of `seaway_controller_poll_timeout` has come. An early call changes nothing.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_handle_timeout(struct SeawayController *controller, uint64_t now_ns);

// When `seaway_controller_handle_timeout` is due, in nanoseconds; `SEAWAY_STATUS_NONE` where no timer runs. Any other call may change it.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_poll_timeout(struct SeawayController *controller,
                                            uint64_t *due_ns);

// The next probe to send. Call it until it returns `SEAWAY_STATUS_NONE`.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_poll_probe(struct SeawayController *controller,
                                          uint64_t now_ns,
                                          struct SeawayProbe *probe);

// The next change of the rate that was not read yet, oldest first. Call it until it returns `SEAWAY_STATUS_NONE`. If too many
// changes wait to be read, the newest are dropped.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_poll_decision(struct SeawayController *controller,
                                             struct SeawayDecision *decision);

// The rate that media and its repair may use together.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_target(struct SeawayController *controller, struct SeawayTarget *target);

// The allowance of a subflow: what it may send. It changes with each packet that leaves.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_allowance(struct SeawayController *controller,
                                         uint32_t subflow,
                                         struct SeawayAllowance *allowance);

// How many connections the flow has now, at least one.
//
// # Safety
// As for `seaway_controller_on_sent`.
SeawayStatus seaway_controller_subflows(struct SeawayController *controller, uint64_t *count);

// Calls `visit` with every internal value of the controller. `visit` must not call the controller.
//
// # Safety
// As for `seaway_controller_on_sent`; `visit` returns and allows what `user` points to.
SeawayStatus seaway_controller_inspect(struct SeawayController *controller, SeawayGauge visit, void *user);

// Starts a sender.
//
// # Safety
// Pointers that are not null point to an object of their type.
SeawayStatus seaway_sender_new(const struct SeawaySenderConfig *config, struct SeawaySender **sender);

// Ends the session and frees the sender. Null is allowed.
//
// # Safety
// It is a handle that was not freed.
void seaway_sender_free(struct SeawaySender *sender);

// The present time of the session's clock in nanoseconds, for the capture times of frames.
//
// # Safety
// Pointers that are not null point to an object of their type, and the handle is used by one thread at a time.
SeawayStatus seaway_sender_now(struct SeawaySender *sender, uint64_t *now_ns);

// The settings of the encoder for the next frame.
//
// # Safety
// As for `seaway_sender_now`.
SeawayStatus seaway_sender_controls(struct SeawaySender *sender, struct SeawayFrameControls *controls);

// Sends a coded frame: an H.264 access unit in Annex B form, of 1 octet to 8 MiB. `captured_ns` is an instant of
// `seaway_sender_now`, `target_bytes` what the encoder aimed at, `interval_ns` the time to the next frame, above 0. Never blocks.
//
// # Safety
// As for `seaway_sender_now`; `data` points to `length` octets.
SeawayStatus seaway_sender_send_frame(struct SeawaySender *sender,
                                      const uint8_t *data,
                                      size_t length,
                                      uint32_t is_key,
                                      uint64_t captured_ns,
                                      uint64_t target_bytes,
                                      uint64_t interval_ns);

// A picture was captured and not encoded.
//
// # Safety
// As for `seaway_sender_now`.
SeawayStatus seaway_sender_skip_frame(struct SeawaySender *sender);

// Processes the events since the last call and writes the state. Call it at least once a second.
//
// # Safety
// As for `seaway_sender_now`.
SeawayStatus seaway_sender_state(struct SeawaySender *sender, struct SeawaySenderState *state);

// Starts a receiver.
//
// # Safety
// Pointers that are not null point to an object of their type. `on_frame` can be called on another thread until the receiver is freed.
SeawayStatus seaway_receiver_new(const struct SeawayReceiverConfig *config,
                                 struct SeawayReceiver **receiver);

// Ends the session and frees the receiver; `on_frame` is not called any more when it returns. Null is allowed.
//
// # Safety
// It is a handle that was not freed, and this is not called by `on_frame`.
void seaway_receiver_free(struct SeawayReceiver *receiver);

// Requests a key frame from the sender, for a decoder that lost its references.
//
// # Safety
// The handle is used by one thread at a time.
SeawayStatus seaway_receiver_request_key_frame(struct SeawayReceiver *receiver);

// Processes the events since the last call and writes the state. Call it at least once a second.
//
// # Safety
// Pointers that are not null point to an object of their type, and the handle is used by one thread at a time.
SeawayStatus seaway_receiver_state(struct SeawayReceiver *receiver, struct SeawayReceiverState *state);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SEAWAY_H */
