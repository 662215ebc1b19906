//! A controller of one's own beside a built-in one: a little up with each report, a sixth down where something was lost.
use seaway_control::*;
use seaway_lab::{RunOptions, library, run};
use seaway_units::{Bitrate, RateRange, Timestamp};
use std::ops::ControlFlow;

#[derive(Debug)]
struct Sawtooth {
    rate: Bitrate,
    limits: RateRange,
}

impl RateController for Sawtooth {
    fn on_feedback(&mut self, _: Timestamp, feedback: &Feedback<'_>) {
        let lost = feedback.packets.iter().any(|packet| packet.fate == Fate::Lost);
        self.rate = self.limits.clamp(self.rate.mul_f64(if lost { 0.83 } else { 1.02 }));
    }
    fn on_signal(&mut self, _: Timestamp, signal: LocalSignal) {
        if let LocalSignal::Limits { min, start, max } = signal {
            (self.rate, self.limits) = (start, RateRange::new(min, max));
        }
    }
    fn target(&self) -> Target {
        Target::new(self.rate)
    }
}

pub(crate) fn main() {
    let sawtooth = ControllerInfo::new("sawtooth", "an example", |_, _| {
        let controller = Sawtooth { rate: Bitrate::ZERO, limits: RateRange::ALL };
        Ok(pair(controller, PeriodicFeedback::default()))
    });
    let registry = Registry::builtin().with(sawtooth).expect("a new name");
    for control in ["sawtooth", "tfrc"] {
        let set = format!("flow.video.control={control}").parse().unwrap();
        let scenario = library::find("squeeze").unwrap().parse_with(&registry, &[set]).unwrap();
        let outcome = run(&scenario, RunOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
        let video = &outcome.summary.flows[0];
        println!("{control}: {:.2} Mbit/s received", video.received_bps.unwrap() / 1e6);
    }
}
