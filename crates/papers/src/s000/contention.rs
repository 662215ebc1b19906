//! A client beside many TCP flows.

use super::buffer::TYPE_1;
use crate::figure::{self, Figure};
use crate::results::{Check, Results};
use crate::runner::{Case, Failure, Runner};
use crate::tolerance::Tolerance;
use crate::trace::{binned, flow, mean, pairs_that, scaled, trace};
use seaway_lab::Outcome;
use std::rc::Rc;

const TFRC: &str = "tfrc";
/// IP bits of a packet.
const PACKET_BITS: f64 = 224.0 * 8.0;
/// Octets of payload in it.
const PAYLOAD: f64 = 160.0;

fn case(control: &str) -> Case {
    Case::new("s000-crowd").set("flow.video.control", control)
}

/// Packets of media a second; what the endpoints say of themselves is none.
fn arrivals(outcome: &Outcome) -> Result<f64, Failure> {
    let flow = flow(outcome, "video")?;
    let offered = flow.buffer.ok_or(Failure::Absent("buffer"))?.offered_bytes;
    Ok(offered as f64 / PAYLOAD / flow.measured_s)
}

/// What the player takes, packets a second.
const CONSUMPTION: f64 = 8_000.0 / 8.0 / PAYLOAD;
/// The part that is left out, s: type I fills the buffer at the start.
const SETTLED: f64 = 40.0;

/// Packets that arrive each second in the steady state.
fn by_second(outcome: &Outcome) -> Vec<(f64, f64)> {
    let rate = scaled(trace(outcome, "video", "received_rate"), 1.0 / PACKET_BITS);
    binned(&rate, 1.0).into_iter().filter(|(time, _)| *time > SETTLED).collect()
}

/// Runs, and the packets that arrive a second in each.
type Arrivals = (Rc<[Outcome]>, Vec<f64>);

/// Arrivals under each control.
fn arrivals_under(runner: &mut Runner<'_>, controls: &[&'static str]) -> Result<Vec<Arrivals>, Failure> {
    let cases: Vec<Case> = controls.iter().map(|control| case(control).with_series()).collect();
    let of = |outcomes: Rc<[Outcome]>| {
        let rates = outcomes.iter().map(arrivals).collect::<Result<Vec<f64>, Failure>>()?;
        Ok((outcomes, rates))
    };
    runner.run(&cases)?.into_iter().map(of).collect()
}

pub(super) fn arrival_rate(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let runs = arrivals_under(runner, &[TYPE_1, TFRC])?;
    let [(one, ours), (other, tfrc)] = &runs[..] else { return Err(Failure::Absent("run")) };
    let empty: usize = one
        .iter()
        // An announcement is less than a packet.
        .map(|outcome| by_second(outcome).iter().filter(|(_, packets)| *packets < 1.0).count())
        .sum();
    let any = Tolerance::at_least(0.0);
    let mut checks = vec![
        Check::value("type I over TFRC", "", mean(ours) / mean(tfrc), Tolerance::at_least(2.0)).printed(2.4),
        Check::value(
            "seconds in which nothing comes under type I, all seeds",
            "",
            empty as f64,
            Tolerance::at_most(0.0),
        )
        .printed(0.0),
        Check::seeds("arrivals under type I", "packets/s", ours, Tolerance::at_most(8.0)).printed(8.0),
        Check::seeds("arrivals under TFRC", "packets/s", tfrc, any).reported(),
    ];
    let (beside, _) = runner.beside(|runner| {
        let runs = arrivals_under(runner, &["tfrc(profile=ns2)"])?;
        let ratio = mean(ours) / mean(&runs[0].1);
        Ok((vec![Check::value("type I over ns-2's TFRC", "", ratio, any)], Vec::new()))
    })?;
    checks.extend(beside);
    let curves = [("type I", one), ("TFRC", other)];
    let curves = curves.map(|(name, outcomes)| figure::line(name, by_second(&outcomes[0]))).to_vec();
    Ok(Results {
        checks,
        figures: vec![Figure { title: "Packets that arrive each second".into(), x: "time, s", y: "arrivals, packets/s", curves, ..Figure::default() }],
        parameters: vec![("command", case(TYPE_1).command())],
        remarks: vec![
            "Type I answers its receiver and not the network: it takes what it asks for from the TCP flows, which the \
             ratio measures."
                .to_owned(),
        ],
        substitute: None,
    })
}

/// Numbers of TCP flows: of figure 14, and of figure 15, of which only the first can have full buffers (S000-I1).
const FLOWS: [u32; 6] = [8, 16, 24, 32, 40, 48];
const FEW: [u32; 6] = [2, 4, 8, 16, 32, 48];

/// Losses of the network and of the full buffer, and packets that were sent.
struct Losses {
    network: f64,
    buffer: f64,
    sent: f64,
    arrivals: f64,
}

impl Losses {
    fn of(outcome: &Outcome) -> Result<Self, Failure> {
        let flow = flow(outcome, "video")?;
        let network = (flow.packets.lost_queue + flow.packets.lost_channel) as f64;
        let buffer = flow.buffer.ok_or(Failure::Absent("buffer"))?.refused_bytes as f64 / PAYLOAD;
        Ok(Self { network, buffer, sent: flow.packets.sent as f64, arrivals: arrivals(outcome)? })
    }

    fn overall(&self) -> f64 {
        (self.network + self.buffer) / self.sent
    }

    fn of_the_buffer(&self) -> f64 {
        let all = self.network + self.buffer;
        if all > 0.0 { self.buffer / all } else { f64::NAN }
    }

    fn arrivals(&self) -> f64 {
        self.arrivals
    }

    fn of_the_network(&self) -> f64 {
        self.network / self.sent
    }
}

/// Losses at each number of flows, one a seed, for type I and TFRC.
struct Sweep {
    flows: Vec<u32>,
    losses: [Vec<Vec<Losses>>; 2],
}

impl Sweep {
    fn run(runner: &mut Runner<'_>, flows: &[u32]) -> Result<Self, Failure> {
        let at = |control| flows.iter().map(move |flows| case(control).set("flow.tcp.count", flows));
        let cases = [TYPE_1, TFRC].map(|control| at(control).collect::<Vec<_>>());
        let mut outcomes = runner.run(&cases.concat())?.into_iter();
        let mut one = || -> Result<Vec<Vec<Losses>>, Failure> {
            let of = |outcomes: Rc<[Outcome]>| outcomes.iter().map(Losses::of).collect();
            outcomes.by_ref().take(flows.len()).map(of).collect()
        };
        Ok(Self { flows: flows.to_vec(), losses: [one()?, one()?] })
    }

    fn values(&self, control: usize, of: fn(&Losses) -> f64) -> Vec<(f64, Vec<f64>)> {
        let at = |losses: &Vec<Losses>| losses.iter().map(of).collect();
        self.flows
            .iter()
            .zip(&self.losses[control])
            .map(|(flows, losses)| (f64::from(*flows), at(losses)))
            .collect()
    }

    fn means(&self, control: usize, of: fn(&Losses) -> f64) -> Vec<f64> {
        self.values(control, of).iter().map(|(_, values)| mean(values)).collect()
    }

    /// So many of the first points have more arrivals under TFRC than the player takes.
    fn that_can_fill(&self) -> usize {
        self.means(1, Losses::arrivals).iter().take_while(|rate| **rate > CONSUMPTION).count()
    }

    fn overall(&self) -> Vec<Figure> {
        self.figure("Overall loss against the number of TCP flows", "loss ratio", Losses::overall)
    }

    fn of_the_buffer(&self) -> Vec<Figure> {
        let title = "Part of the losses that a full buffer caused";
        self.figure(title, "part of the losses", Losses::of_the_buffer)
    }

    fn figure(&self, title: &str, y: &'static str, of: fn(&Losses) -> f64) -> Vec<Figure> {
        let curves = ["type I", "TFRC"]
            .iter()
            .enumerate()
            .map(|(index, name)| figure::of_seeds(*name, self.values(index, of)))
            .collect();
        vec![Figure { title: title.to_owned(), x: "TCP flows", y, curves, ..Figure::default() }]
    }
}

/// What each pair of neighbours may fall by without being taken for a fall.
fn rising(values: &[f64]) -> usize {
    pairs_that(values, |a, b| b > a)
}

pub(super) fn overall_loss(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let sweep = Sweep::run(runner, &FLOWS)?;
    let rises = |control, of| rising(&sweep.means(control, of));
    let mut checks = vec![
        Check::count("type I: rises from point to point", rises(0, Losses::overall), 5, 5),
        Check::count("TFRC: rises from point to point", rises(1, Losses::overall), 5, 5),
        Check::count("type I: the network's losses alone", rises(0, Losses::of_the_network), 5, 5).reported(),
        Check::count("TFRC: the network's losses alone", rises(1, Losses::of_the_network), 5, 5).reported(),
    ];
    for (name, index) in [("type I", 0), ("TFRC", 1)] {
        for (flows, values) in sweep.values(index, Losses::overall) {
            let what = format!("loss under {name} beside {flows} flows");
            checks.push(Check::seeds(what, "", &values, Tolerance::at_least(0.0)).reported());
        }
    }
    Ok(Results {
        checks,
        figures: sweep.overall(),
        parameters: vec![("command", case(TYPE_1).set("flow.tcp.count", FLOWS[0]).command())],
        remarks: vec![
            "The client's buffer is its socket: TFRC misses what is refused there, and slows down to what the player \
             takes."
                .to_owned(),
        ],
        substitute: None,
    })
}

pub(super) fn buffer_part(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let sweep = Sweep::run(runner, &FEW)?;
    let judged = sweep.that_can_fill();
    let [one, other] = [0, 1].map(|control| sweep.means(control, Losses::of_the_buffer)[..judged].to_vec());
    let steps = judged.saturating_sub(1);
    let falls = |values: &[f64]| pairs_that(values, |a, b| b < a);
    let above = other.iter().zip(&one).filter(|(tfrc, one)| tfrc > one).count();
    let mut checks = vec![
        Check::value("points at which TFRC can fill the buffer", "", judged as f64, Tolerance::at_least(2.0)),
        Check::count("TFRC: falls from point to point", falls(&other), steps, steps),
        Check::count("type I: falls from point to point", falls(&one), steps, steps),
        Check::count("points where TFRC's part is above type I's", above, judged, judged),
    ];
    for (name, index) in [("type I", 0), ("TFRC", 1)] {
        for (flows, values) in sweep.values(index, Losses::of_the_buffer) {
            let what = format!("the buffer's part under {name} beside {flows} flows");
            checks.push(Check::seeds(what, "", &values, Tolerance::at_least(0.0)).reported());
        }
    }
    for (flows, values) in sweep.values(1, Losses::arrivals) {
        let what = format!("arrivals under TFRC beside {flows} flows");
        checks.push(Check::seeds(what, "packets/s", &values, Tolerance::at_least(0.0)).reported());
    }
    Ok(Results {
        checks,
        figures: sweep.of_the_buffer(),
        parameters: vec![("command", case(TYPE_1).set("flow.tcp.count", FEW[0]).command())],
        remarks: vec![
            "Judged at the numbers of TCP flows at which more arrives under TFRC than the player takes (S000-I1)."
                .to_owned(),
        ],
        substitute: None,
    })
}

pub(super) fn overall_loss_at(runner: &mut Runner<'_>, flows: f64) -> Result<Vec<Figure>, Failure> {
    Ok(Sweep::run(runner, &[flows as u32])?.overall())
}

pub(super) fn buffer_part_at(runner: &mut Runner<'_>, flows: f64) -> Result<Vec<Figure>, Failure> {
    Ok(Sweep::run(runner, &[flows as u32])?.of_the_buffer())
}

/// What figures 13 and 15 leave for each other: at 2.4 times less than 8 packets a second nothing fills a buffer that
/// 6.25 leave.
pub(super) fn limit_of_the_buffer(_: &mut Runner<'_>) -> Result<Results, Failure> {
    limit_with(CONSUMPTION)
}

/// A player that takes half as much leaves room for both figures.
pub(super) fn no_limit_of_the_buffer(_: &mut Runner<'_>) -> Result<Results, Failure> {
    limit_with(CONSUMPTION / 2.0)
}

fn limit_with(taken: f64) -> Result<Results, Failure> {
    let arrivals = 8.0 / 2.4;
    Ok(Results {
        checks: vec![
            Check::value("arrivals under TFRC by figure 13", "packets/s", arrivals, Tolerance::at_most(taken)),
            Check::value("what the player takes", "packets/s", taken, Tolerance::about(6.25, 0.001)),
            Check::value(
                "largest level in 600 s of a buffer that is full at first, of 16 384 B",
                "",
                (16_384.0 - 600.0 * (taken - arrivals) * PAYLOAD).max(0.0) / 16_384.0,
                Tolerance::at_most(0.0),
            ),
        ],
        remarks: vec![
            "With 48 TCP flows figure 13 gives TFRC at most 8/2.4 = 3.3 packets a second. The player takes 6.25. The buffer \
             therefore empties, is full never again, and no loss is its own: figure 15's `consistently results in buffer \
             overflows` can hold only with fewer flows."
                .to_owned(),
        ],
        ..Results::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_by_cause() {
        let losses = Losses { network: 30.0, buffer: 10.0, sent: 400.0, arrivals: 1.0 };
        assert_eq!((losses.overall(), losses.of_the_buffer(), losses.of_the_network()), (0.1, 0.25, 0.075));
    }
}
