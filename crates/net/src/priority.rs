//! Real-time priority for the media thread.

use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
    thread_native_id,
};

/// Asks for real-time scheduling (SCHED_FIFO) of the calling thread, so that timers on a busy machine are late by less than
/// a millisecond rather than by tens.
///
/// # Errors
/// The system does not grant it; a sentence for the user.
pub fn make_real_time() -> Result<(), String> {
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    let Ok(priority) = 10u8.try_into() else { return Err("no such priority".into()) };
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Crossplatform(priority), policy)
        .map_err(|error| format!("no real-time priority ({error:?}): a busy machine may make this run late"))
}
