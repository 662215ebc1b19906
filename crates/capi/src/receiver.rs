//! A live receiver that gives coded frames to the caller's decoder.

#![expect(
    unsafe_code,
    reason = "functions of the header follow a caller's pointers, by crate::pointer alone"
)]

use crate::SEAWAY_TEXT;
use crate::controller::{size_in, span};
use crate::pointer::{self, Handle, Structure, text_member};
use crate::sender::{address, key, not_started};
use crate::status::{Failure, SeawayStatus};
use seaway_session::{FrameData, FrameKind};
use seaway_stream::Receiver;
use seaway_stream::sink::Displayed;
use std::ffi::{c_char, c_void};

/// A live receiver with its threads.
pub struct SeawayReceiver(Handle<Running>);

struct Running(Receiver);

/// A complete frame, whose references came before it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SeawayReceivedFrame {
    /// `sizeof(SeawayReceivedFrame)`.
    pub struct_size: u32,
    /// 1 where decoding can begin with it, else 0.
    pub is_key: u32,
    /// The coded octets: an H.264 access unit in Annex B form. Valid during the call.
    pub data: *const u8,
    /// The number of octets.
    pub length: usize,
    /// When it is shown, in nanoseconds of the receiver's clock.
    pub displayed_ns: u64,
    /// When it was captured, in ticks of 90 kHz modulo 2^32.
    pub rtp_timestamp: u32,
    /// Zero.
    pub reserved: u32,
}

/// Receives a frame, on a thread of the receiver. It must return soon and must not call a function of this receiver.
pub type SeawayFrameCallback =
    Option<unsafe extern "C" fn(user: *mut c_void, frame: *const SeawayReceivedFrame)>;

/// The configuration of a receiver. All fields may be zero except `struct_size`, `bind` and `on_frame`: it then receives on this host.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SeawayReceiverConfig {
    /// `sizeof(SeawayReceiverConfig)`.
    pub struct_size: u32,
    /// 1 to accept plain RTP from other hosts, else 0. Anyone who reaches the port can then send.
    pub insecure: u32,
    /// The local address: "127.0.0.1:5004"; port 0 chooses a free port.
    pub bind: *const c_char,
    /// The key of the session, or null: 256 bits as base64url, 43 characters, as in the URL that `seaway recv` prints.
    pub key: *const c_char,
    /// How long after the least delay of the path a frame may be shown, in nanoseconds; 0 for 500 ms.
    pub latency_ns: u64,
    /// Is called with each frame.
    pub on_frame: SeawayFrameCallback,
    /// Its first argument.
    pub user: *mut c_void,
}

/// The state of a receiver.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct SeawayReceiverState {
    /// `sizeof(SeawayReceiverState)`.
    pub struct_size: u32,
    /// 1 if one of its threads failed: it no longer receives.
    pub failed: u32,
    /// Rate of whole IP datagrams over the last half second, in bits per second.
    pub received_bps: u64,
    /// Packets lost after repair over packets expected in the last half second, 0 to 1.
    pub loss_ratio: f64,
    /// Frames passed to `on_frame`.
    pub frames: u64,
    /// Freezes that ended.
    pub freezes: u64,
    /// The address at which it receives: "127.0.0.1:5004".
    pub local: [c_char; SEAWAY_TEXT],
}

// SAFETY: each is `repr(C)`, of numbers and pointers, and begins with its size.
unsafe impl Structure for SeawayReceiverConfig {}
// SAFETY: as above.
unsafe impl Structure for SeawayReceiverState {}

/// A caller's function with its argument.
struct Callback {
    call: unsafe extern "C" fn(*mut c_void, *const SeawayReceivedFrame),
    user: *mut c_void,
}

// SAFETY: the header says that the function is called on a thread of the receiver.
unsafe impl Send for Callback {}

impl Callback {
    fn give(&self, displayed: &Displayed<'_>) {
        let frame = displayed.frame;
        // A sender of this project codes; what has no octets is a model of one.
        let FrameData::Coded(data) = &frame.data else { return };
        let value = SeawayReceivedFrame {
            struct_size: size_in::<SeawayReceivedFrame>(),
            is_key: (frame.kind == FrameKind::Key).into(),
            data: data.as_ptr(),
            length: data.len(),
            displayed_ns: displayed.at.as_nanos(),
            rtp_timestamp: frame.timestamp,
            reserved: 0,
        };
        // SAFETY: the function takes a frame, which lives as long as the call.
        unsafe { (self.call)(self.user, &raw const value) };
    }
}

/// Starts a receiver.
///
/// # Safety
/// Pointers that are not null point to an object of their type. `on_frame` can be called on another thread until the receiver is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_receiver_new(
    config: *const SeawayReceiverConfig,
    receiver: *mut *mut SeawayReceiver,
) -> SeawayStatus {
    let make = || {
        // SAFETY: as the caller promises.
        let (config, bind, key) = unsafe {
            let config = pointer::read(config, "config")?;
            (config, address(config.bind, "bind")?, key(config.key)?)
        };
        let null = || Failure::new(SeawayStatus::NullPointer, "on_frame is null");
        let callback = Callback { call: config.on_frame.ok_or_else(null)?, user: config.user };
        let mut builder = Receiver::builder(bind).key(key).insecure(config.insecure != 0).without_decoder();
        if config.latency_ns > 0 {
            builder = builder.latency(span("latency_ns", config.latency_ns)?);
        }
        let sink = move |displayed: &Displayed<'_>| callback.give(displayed);
        Ok(Running(builder.sink(sink).start().map_err(not_started)?))
    };
    // SAFETY: as the caller promises.
    unsafe { Handle::give(receiver, make, SeawayReceiver) }
}

/// Ends the session and frees the receiver; `on_frame` is not called any more when it returns. Null is allowed.
///
/// # Safety
/// It is a handle that was not freed, and this is not called by `on_frame`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_receiver_free(receiver: *mut SeawayReceiver) {
    // SAFETY: as the caller promises.
    unsafe { pointer::free(receiver) };
}

/// Requests a key frame from the sender, for a decoder that lost its references.
///
/// # Safety
/// The handle is used by one thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_receiver_request_key_frame(receiver: *mut SeawayReceiver) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        with(receiver, |Running(receiver)| {
            receiver.request_key_frame();
            Ok(SeawayStatus::Ok)
        })
    }
}

/// Processes the events since the last call and writes the state. Call it at least once a second.
///
/// # Safety
/// Pointers that are not null point to an object of their type, and the handle is used by one thread at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn seaway_receiver_state(
    receiver: *mut SeawayReceiver,
    state: *mut SeawayReceiverState,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe {
        with(receiver, |Running(receiver)| {
            while receiver.poll_event().is_some() {}
            let known = receiver.state();
            let value = SeawayReceiverState {
                struct_size: size_in::<SeawayReceiverState>(),
                failed: receiver.has_failed().into(),
                received_bps: known.received_rate().unwrap_or_default().as_bps(),
                loss_ratio: known.residual_loss_ratio().unwrap_or_default(),
                frames: known.displayed,
                freezes: known.freezes,
                local: text_member(&receiver.local_address().to_string()),
            };
            pointer::write(state, "state", value)?;
            Ok(SeawayStatus::Ok)
        })
    }
}

/// Calls a function of the receiver behind a handle.
///
/// # Safety
/// As for [`pointer::with`].
unsafe fn with(
    receiver: *mut SeawayReceiver,
    call: impl FnOnce(&mut Running) -> Result<SeawayStatus, Failure>,
) -> SeawayStatus {
    // SAFETY: as the caller promises.
    unsafe { pointer::with(receiver, |receiver| &mut receiver.0, call) }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The threads end; that one of them failed changes nothing for a caller who frees the handle.
        let _ = self.0.close();
    }
}
