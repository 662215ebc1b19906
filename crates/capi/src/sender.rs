//! A live sender of frames that the caller's encoder makes.

#![expect(
    unsafe_code,
    reason = "functions of the header follow a caller's pointers, by crate::pointer alone"
)]

use crate::controller::{limits, size_in, span, timestamp};
use crate::pointer::{self, Handle, Structure};
use crate::status::{Failure, SeawayStatus};
use bytes::Bytes;
use seaway_control::Registry;
use seaway_session::SessionKey;
use seaway_stream::source::CodedFrame;
use seaway_stream::{FrameInput, SendEvent, Sender};
use seaway_units::DataSize;
use std::ffi::c_char;
use std::net::SocketAddr;

/// The largest coded frame, in octets.
const LARGEST_FRAME: usize = 8 << 20;

/// A live sender with its media thread.
pub struct SeawaySender(Handle<Running>);

struct Running {
    sender: Sender,
    input: FrameInput,
    has_ended: bool,
}

/// The configuration of a sender. All fields may be zero except `struct_size`, `to` and the rates: it then sends to this host with
/// the default controller.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SeawaySenderConfig {
    /// `sizeof(SeawaySenderConfig)`.
    pub struct_size: u32,
    /// 1 to allow plain RTP to another host, else 0. Anyone on the path can then see the video and replace it.
    pub insecure: u32,
    /// The receiver: "192.0.2.7:5004" or "[2001:db8::7]:5004".
    pub to: *const c_char,
    /// The key of the session, or null: 256 bits as base64url, 43 characters, as in the URL that `seaway recv` prints.
    pub key: *const c_char,
    /// The controller, such as "nada"; null for the default one.
    pub control: *const c_char,
    /// The lowest rate of whole IP datagrams, in bits per second.
    pub min_bps: u64,
    /// The first rate.
    pub start_bps: u64,
    /// The highest rate.
    pub max_bps: u64,
    /// The longest time from capture to display, without the least delay of the path, in nanoseconds; 0 for 500 ms.
    pub latency_ns: u64,
}

/// The settings of the encoder for the next frame.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SeawayFrameControls {
    /// `sizeof(SeawayFrameControls)`.
    pub struct_size: u32,
    /// 1 once the receiver was found; with a key, once it has proved that it has the key. Frames before that are dropped.
    pub connected: u32,
    /// The rate that frames may use, packet headers included, in bits per second.
    pub rate_bps: u64,
    /// 1 if the next frame must be a key frame. Reading it clears it.
    pub key_frame: u32,
    /// 1 if the send queue is full: skip this picture, and call `seaway_sender_skip_frame`.
    pub skip: u32,
}

/// The state of a sender.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SeawaySenderState {
    /// `sizeof(SeawaySenderState)`.
    pub struct_size: u32,
    /// 1 if the session has ended: another sender with the same key took over, or the circuit breaker of RFC 8083 ended it.
    pub ended: u32,
    /// Rate of whole IP datagrams over the last half second, in bits per second.
    pub sent_bps: u64,
    /// Lost packets over reported packets in the last half second, 0 to 1.
    pub loss_ratio: f64,
    /// Packets sent.
    pub packets: u64,
    /// Frames passed to `seaway_sender_send_frame`.
    pub frames: u64,
}

// SAFETY: each is `repr(C)`, of numbers and pointers, and begins with its size.
unsafe impl Structure for SeawaySenderConfig {}
// SAFETY: as above.
unsafe impl Structure for SeawayFrameControls {}
// SAFETY: as above.
unsafe impl Structure for SeawaySenderState {}

/// A key of a caller, if there is one.
///
/// # Safety
/// As for [`pointer::text`].
pub(crate) unsafe fn key(key: *const c_char) -> Result<Option<SessionKey>, Failure> {
    // SAFETY: as the caller promises.
    let key = unsafe { pointer::text(key, "key") }?;
    // Its text is secret: the error does not quote it.
    key.map(|key| key.parse().map_err(|_| Failure::invalid("key is not the text of a session key")))
        .transpose()
}

/// The address of a caller.
///
/// # Safety
/// As for [`pointer::text`].
pub(crate) unsafe fn address(text: *const c_char, what: &str) -> Result<SocketAddr, Failure> {
    // SAFETY: as the caller promises.
    let text = unsafe { pointer::required(text, what) }?;
    text.parse().map_err(|error| Failure::invalid(format_args!("{what}: {error}")))
}

/// Why a session does not start.
pub(crate) fn not_started(error: seaway_stream::Error) -> Failure {
    let status = match error {
        seaway_stream::Error::Control(_) | seaway_stream::Error::Unprotected(_) => {
            SeawayStatus::InvalidArgument
        }
        _ => SeawayStatus::System,
    };
    Failure::new(status, error)
}

/// Starts a sender.
///
/// # Safety
/// Pointers that are not null point to an object of their type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_sender_new(
    config: *const SeawaySenderConfig,
    sender: *mut *mut SeawaySender,
) -> SeawayStatus {
    let make = || {
        // SAFETY: as the caller promises.
        let (config, to, key, control) = unsafe {
            let config = pointer::read(config, "config")?;
            let control = pointer::text(config.control, "control")?;
            (config, address(config.to, "to")?, key(config.key)?, control)
        };
        let control = control.unwrap_or(Registry::DEFAULT).parse().map_err(Failure::invalid)?;
        let limits = limits(config.min_bps, config.start_bps, config.max_bps)?;
        let mut builder = Sender::builder(to).key(key).insecure(config.insecure != 0);
        if config.latency_ns > 0 {
            builder = builder.latency(span("latency_ns", config.latency_ns)?);
        }
        let sender = builder.control(control).limits(limits).start().map_err(not_started)?;
        Ok(Running { input: sender.input(), sender, has_ended: false })
    };
    // SAFETY: as the caller promises.
    unsafe { Handle::give(sender, make, SeawaySender) }
}

/// Ends the session and frees the sender. Null is allowed.
///
/// # Safety
/// It is a handle that was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_sender_free(sender: *mut SeawaySender) {
    // SAFETY: as the caller promises.
    unsafe { pointer::free(sender) };
}

/// The present time of the session's clock in nanoseconds, for the capture times of frames.
///
/// # Safety
/// Pointers that are not null point to an object of their type, and the handle is used by one thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_sender_now(sender: *mut SeawaySender, now_ns: *mut u64) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        with(sender, |running| {
            pointer::write_number(now_ns, "now_ns", running.input.now().as_nanos())?;
            Ok(SeawayStatus::Ok)
        })
    }
}

/// The settings of the encoder for the next frame.
///
/// # Safety
/// As for `seaway_sender_now`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_sender_controls(
    sender: *mut SeawaySender,
    controls: *mut SeawayFrameControls,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        with(sender, |running| {
            pointer::read(controls.cast_const(), "controls")?;
            let settings = running.input.controls();
            let value = SeawayFrameControls {
                struct_size: size_in::<SeawayFrameControls>(),
                connected: running.input.is_connected().into(),
                rate_bps: settings.share.as_bps(),
                key_frame: settings.key_frame.into(),
                skip: settings.skip.into(),
            };
            pointer::write(controls, "controls", value)?;
            Ok(SeawayStatus::Ok)
        })
    }
}

/// Sends a coded frame: an H.264 access unit in Annex B form, of 1 octet to 8 MiB. `captured_ns` is an instant of
/// `seaway_sender_now`, `target_bytes` what the encoder aimed at, `interval_ns` the time to the next frame, above 0. Never blocks.
///
/// # Safety
/// As for `seaway_sender_now`; `data` points to `length` octets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_sender_send_frame(
    sender: *mut SeawaySender,
    data: *const u8,
    length: usize,
    is_key: u32,
    captured_ns: u64,
    target_bytes: u64,
    interval_ns: u64,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        with(sender, |running| {
            if !(1..=LARGEST_FRAME).contains(&length)
                || interval_ns == 0
                || target_bytes > LARGEST_FRAME as u64
            {
                let why = format!(
                    "a frame of {length} octets for {target_bytes}, each {interval_ns} ns: expected 1 to {LARGEST_FRAME} octets and an interval"
                );
                return Err(Failure::invalid(why));
            }
            let data = Bytes::copy_from_slice(pointer::octets(data, length, "data")?);
            let captured = timestamp("captured_ns", captured_ns)?;
            let (target, interval) = (DataSize::from_bytes(target_bytes), span("interval_ns", interval_ns)?);
            running.input.send(captured, CodedFrame { data, is_key: is_key != 0, target, interval });
            Ok(SeawayStatus::Ok)
        })
    }
}

/// A picture was captured and not encoded.
///
/// # Safety
/// As for `seaway_sender_now`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_sender_skip_frame(sender: *mut SeawaySender) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        with(sender, |running| {
            running.input.skip();
            Ok(SeawayStatus::Ok)
        })
    }
}

/// Processes the events since the last call and writes the state. Call it at least once a second.
///
/// # Safety
/// As for `seaway_sender_now`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_sender_state(
    sender: *mut SeawaySender,
    state: *mut SeawaySenderState,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        with(sender, |running| {
            while let Some((_, event)) = running.sender.poll_event() {
                running.has_ended |= ends(&event);
            }
            let known = running.sender.state();
            let statistics = known.session.as_ref().map(|session| &session.statistics);
            let value = SeawaySenderState {
                struct_size: size_in::<SeawaySenderState>(),
                ended: running.has_ended.into(),
                sent_bps: known.sent_rate().unwrap_or_default().as_bps(),
                loss_ratio: known.loss_ratio().unwrap_or_default(),
                packets: statistics.map_or(0, |statistics| statistics.sent.packets),
                frames: statistics.map_or(0, |statistics| statistics.frames.captured),
            };
            pointer::write(state, "state", value)?;
            Ok(SeawayStatus::Ok)
        })
    }
}

/// True if the session has ended.
fn ends(event: &SendEvent) -> bool {
    matches!(event, SendEvent::Replaced | SendEvent::CircuitBroken(_))
}

/// Calls a function of the sender behind a handle.
///
/// # Safety
/// As for [`pointer::with`].
unsafe fn with(
    sender: *mut SeawaySender,
    call: impl FnOnce(&mut Running) -> Result<SeawayStatus, Failure>,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe { pointer::with(sender, |sender| &mut sender.0, call) }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The threads end; that one of them failed changes nothing for a caller who frees the handle.
        let _ = self.sender.close();
    }
}
