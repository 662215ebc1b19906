//! The numbers by which a scorecard compares controllers.

use crate::metric::measured;

measured! {
    /// The scores of a run. Those of flows are means over the media flows that have the number.
    #[derive(Copy, Default)]
    pub struct Score {
        /// busy time of the busiest link or cell, weighted by its rate where that varies (RFC 8867 section 4.1)
        utilisation: Option<f64> = "Utilisation", Percent, Higher,
        /// IP bits received a second, mean of the media flows
        received: Option<f64> = "Received", MegabitsPerSecond, Higher,
        /// waiting in all queues of the forward path, per packet: median, mean of the media flows
        queue_p50: Option<f64> = "Queueing, median", Milliseconds, Lower,
        /// waiting in all queues of the forward path: 95 of 100 packets wait no longer, mean of the media flows
        queue_p95: Option<f64> = "Queueing, 95 %", Milliseconds, Lower,
        /// packets lost over those whose fate is known, before repair, mean of the media flows
        loss: Option<f64> = "Lost", Percent, Lower,
        /// of the rates received by media and TCP flows; 1 is even (RFC 5166)
        jain: Option<f64> = "Jain's index", One, Higher,
        /// media flows that kept within a tenth of their fair share for 5 s at any time; not in cells
        settled: Option<f64> = "Converged", Percent, Higher,
        /// time from their start until those flows converged
        convergence: Option<f64> = "Convergence", Seconds, Lower,
        /// freezes (webrtc-stats: gaps of 3 usual frame intervals, and 150 ms above one), mean of the media flows
        freezes: Option<f64> = "Freezes", PerMinute, Lower,
        /// part of the time in freezes, mean of the media flows
        frozen: Option<f64> = "Frozen", Percent, Lower,
        /// from capture to display, for 95 of 100 displayed frames; mean of the media flows
        delay_p95: Option<f64> = "Capture to display, 95 %", Milliseconds, Lower,
        /// modelled luma PSNR of the picture on screen, from the sizes and quality of the ladder; mean of the media flows
        psnr: Option<f64> = "PSNR", Decibels, Higher,
    }
}
