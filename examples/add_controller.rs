//! A controller of one's own beside a built-in one: a little up with each report, a sixth down where something was lost.
use seaway_control::*;
use seaway_lab::{RunOptions, library, run};
use seaway_units::{Bitrate, Probability, Timestamp};
use std::ops::ControlFlow;

#[derive(Debug, Default)]
struct Seesaw {
    rate: Bitrate,
    least: Bitrate,
    most: Bitrate,
}

#[rustfmt::skip] // Most of it is a line each.
impl RateController for Seesaw {
    fn on_signal(&mut self, _: Timestamp, signal: LocalSignal) {
        if let LocalSignal::Limits { min, start, max } = signal {
            (self.rate, self.least, self.most) = (start, min, max);
        }
    }
    fn on_feedback(&mut self, _: Timestamp, feedback: &Feedback<'_>) {
        let lost = feedback.packets.iter().any(|packet| packet.fate == Fate::Lost);
        self.rate = self.rate.mul_f64(if lost { 0.83 } else { 1.02 }).clamp(self.least, self.most);
    }
    fn allowance(&self, _: Lane) -> Allowance { Allowance::paced(self.rate) }
    fn target(&self) -> Target { Target { rate: self.rate, channel_loss: Probability::ZERO } }
    fn on_sent(&mut self, _: Timestamp, _: &SentPacket) {}
    fn handle_timeout(&mut self, _: Timestamp) {}
    fn poll_timeout(&self) -> Option<Timestamp> { None }
    fn poll_decision(&mut self) -> Option<Decision> { None }
    fn phase(&self) -> &'static str { "seesaw" }
    fn inspect(&self, visit: &mut dyn FnMut(Gauge)) { visit(Gauge::new("rate", self.rate.as_bps_f64(), "bit/s")); }
}

pub(crate) fn main() {
    let seesaw = ControllerInfo::new("seesaw", "an example", |_, _| {
        Ok(pair(Seesaw::default(), PeriodicFeedback::default()))
    });
    let registry = Registry::builtin().with(seesaw).expect("a new name");
    for control in ["seesaw", "tfrc"] {
        let set = format!("flow.video.control={control}").parse().unwrap();
        let scenario = library::find("squeeze").unwrap().parse_with(&registry, &[set]).unwrap();
        let outcome = run(&scenario, RunOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
        let video = &outcome.summary.flows[0];
        println!("{control}: {:.2} Mbit/s received", video.received_bps.unwrap() / 1e6);
    }
}
