//! Totals of one feedback message, for both versions.

/// Sizes in octets, times in seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct FeedbackSummary {
    pub(super) now: f64,
    /// Queueing delay of the newest packet, unsmoothed.
    pub(super) delay: Option<f64>,
    /// The least and the greatest of all packets that arrived.
    pub(super) delays: (f64, f64),
    /// `s_rtt`.
    pub(super) rtt: f64,
    /// By which the highest acknowledged number advanced, lost packets included.
    pub(super) acked: f64,
    /// Of it, what was marked.
    pub(super) acked_marked: f64,
    /// What is out after it.
    pub(super) flight: f64,
    /// Packets reported received, lost and marked.
    pub(super) received: u32,
    pub(super) lost: u32,
    pub(super) marked: u32,
}
