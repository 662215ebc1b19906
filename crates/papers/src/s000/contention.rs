//! A client beside many TCP flows.

use crate::figure::{self, Figure};
use crate::results::{Check, Results};
use crate::runner::{Case, Failure, Runner};
use crate::tolerance::Tolerance;
use crate::trace::{binned, flow, mean, pairs_that, scaled, trace};
use seaway_lab::Outcome;

const TYPE_1: &str = "buffer-type1";
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

/// Packets that arrive each second, from the second after the first.
fn by_second(outcome: &Outcome) -> Vec<(f64, f64)> {
    let rate = scaled(trace(outcome, "video", "received_rate"), 1.0 / PACKET_BITS);
    binned(&rate, 1.0).into_iter().filter(|(time, _)| *time > 11.0).collect()
}

pub(super) fn arrival_rate(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let controls = [TYPE_1, TFRC, "buffer-type1(gamma=adverse)", "tfrc(profile=ns2)"];
    let cases = controls.map(|control| case(control).seeds(10).with_series());
    let outcomes = runner.run(&cases)?;
    let mut rates = Vec::new();
    for outcomes in &outcomes {
        rates.push(outcomes.iter().map(arrivals).collect::<Result<Vec<f64>, Failure>>()?);
    }
    let ratio = |one: usize, other: usize| mean(&rates[one]) / mean(&rates[other]);
    let empty: usize = outcomes[0]
        .iter()
        // An announcement is less than a packet.
        .map(|outcome| by_second(outcome).iter().filter(|(_, packets)| *packets < 1.0).count())
        .sum();
    let any = Tolerance::at_least(0.0);
    let mut checks = vec![
        Check::value("type I over TFRC", "", ratio(0, 1), Tolerance::at_least(2.0)).printed(2.4),
        Check::value(
            "seconds in which nothing comes under type I, all seeds",
            "",
            empty as f64,
            Tolerance::at_most(0.0),
        )
        .printed(0.0),
    ];
    for (control, rates) in controls.iter().zip(&rates) {
        checks.push(Check::seeds(format!("arrivals under {control}"), "packets/s", rates, any).reported());
    }
    checks.push(
        Check::value("type I with gamma=adverse over TFRC", "", ratio(2, 1), Tolerance::at_least(2.0))
            .reported(),
    );
    checks
        .push(Check::value("type I over ns-2's TFRC", "", ratio(0, 3), Tolerance::at_least(2.0)).reported());
    let curves = ["type I", "TFRC"].iter().zip(&outcomes);
    let curves = curves.map(|(name, outcomes)| figure::line(*name, by_second(&outcomes[0]))).collect();
    Ok(Results {
        checks,
        figures: vec![Figure { title: "Packets that arrive each second".into(), x: "s", y: "packets/s", curves }],
        parameters: vec![("command", cases[0].command())],
        remarks: vec![
            "Type I answers its receiver and not the network: it takes what it asks for from the TCP flows, which the \
             ratio measures."
                .to_owned(),
        ],
        substitute: None,
    })
}

const FLOWS: [u32; 6] = [8, 16, 24, 32, 40, 48];

/// Losses of the network and of the full buffer, and packets that were sent.
struct Losses {
    network: f64,
    buffer: f64,
    sent: f64,
}

impl Losses {
    fn of(outcome: &Outcome) -> Result<Self, Failure> {
        let flow = flow(outcome, "video")?;
        let network = (flow.packets.lost_queue + flow.packets.lost_channel) as f64;
        let buffer = flow.buffer.ok_or(Failure::Absent("buffer"))?.refused_bytes as f64 / PAYLOAD;
        Ok(Self { network, buffer, sent: flow.packets.sent as f64 })
    }

    fn overall(&self) -> f64 {
        (self.network + self.buffer) / self.sent
    }

    fn of_the_buffer(&self) -> f64 {
        let all = self.network + self.buffer;
        if all > 0.0 { self.buffer / all } else { 0.0 }
    }

    fn of_the_network(&self) -> f64 {
        self.network / self.sent
    }
}

/// A quantity at each number of flows, one a seed, for type I, TFRC, and TFRC that misses what its client's socket refuses.
struct Sweep([Vec<Vec<Losses>>; 3]);

impl Sweep {
    fn run(runner: &mut Runner<'_>) -> Result<Self, Failure> {
        let mut one = |control, socket| -> Result<Vec<Vec<Losses>>, Failure> {
            let case = case(control).set("flow.video.receiver.socket", socket);
            let outcomes = runner.run(&FLOWS.map(|flows| case.clone().set("flow.tcp.count", flows)))?;
            outcomes.iter().map(|outcomes| outcomes.iter().map(Losses::of).collect()).collect()
        };
        Ok(Self([one(TYPE_1, false)?, one(TFRC, false)?, one(TFRC, true)?]))
    }

    fn values(&self, control: usize, of: fn(&Losses) -> f64) -> Vec<(f64, Vec<f64>)> {
        let at = |losses: &Vec<Losses>| losses.iter().map(of).collect();
        FLOWS.iter().zip(&self.0[control]).map(|(flows, losses)| (f64::from(*flows), at(losses))).collect()
    }

    fn means(&self, control: usize, of: fn(&Losses) -> f64) -> Vec<f64> {
        self.values(control, of).iter().map(|(_, values)| mean(values)).collect()
    }

    fn figure(&self, title: &str, of: fn(&Losses) -> f64) -> Vec<Figure> {
        let curves = ["type I", "TFRC", "TFRC, the buffer a socket's"]
            .iter()
            .enumerate()
            .map(|(index, name)| figure::of_seeds(*name, self.values(index, of)))
            .collect();
        vec![Figure { title: title.to_owned(), x: "TCP flows", y: "", curves }]
    }
}

pub(super) fn overall_loss(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let sweep = Sweep::run(runner)?;
    let rising = |control, of| pairs_that(&sweep.means(control, of), |a, b| b > a);
    let checks = vec![
        Check::count("type I: rises from point to point", rising(0, Losses::overall), 5, 5),
        Check::count("TFRC: rises from point to point", rising(1, Losses::overall), 5, 5),
        Check::count("type I: the network's losses alone", rising(0, Losses::of_the_network), 5, 5)
            .reported(),
        Check::count("TFRC: the network's losses alone", rising(1, Losses::of_the_network), 5, 5).reported(),
        Check::count("TFRC, the buffer a socket's: rises", rising(2, Losses::overall), 5, 5).reported(),
    ];
    Ok(Results {
        checks,
        figures: sweep.figure("Overall loss against the number of TCP flows", Losses::overall),
        parameters: vec![("command", case(TYPE_1).set("flow.tcp.count", FLOWS[0]).command())],
        remarks: vec![
            "TFRC knows nothing of the client's buffer: beside few TCP flows it sends up to 64 kbit/s to a player of 8, \
             and most of that is refused. Beside many it has less than the player takes, and nothing is. Its overall loss \
             therefore falls with their number, as the paper's own figure 15 implies; the network's part rises. Where the \
             buffer is the socket's, TFRC misses what it refuses and slows down to what the player takes, at any number of \
             flows; by the equation that takes more losses than any number of flows here makes."
                .to_owned(),
        ],
        substitute: None,
    })
}

pub(super) fn buffer_part(runner: &mut Runner<'_>) -> Result<Results, Failure> {
    let sweep = Sweep::run(runner)?;
    let [one, other, socket] = [0, 1, 2].map(|control| sweep.means(control, Losses::of_the_buffer));
    let falling = |means: &[f64]| pairs_that(means, |a, b| b < a);
    let above = other.iter().zip(&one).filter(|(tfrc, one)| tfrc > one).count();
    let checks = vec![
        Check::count("type I: falls from point to point", falling(&one), 5, 5),
        Check::count("TFRC: falls from point to point", falling(&other), 5, 5),
        Check::count("points where TFRC's part is above type I's", above, 6, 6),
        Check::count("TFRC, the buffer a socket's: falls", falling(&socket), 5, 5).reported(),
    ];
    Ok(Results {
        checks,
        figures: sweep.figure("Part of the losses that a full buffer caused", Losses::of_the_buffer),
        parameters: vec![("command", case(TYPE_1).set("flow.tcp.count", FLOWS[0]).command())],
        remarks: vec![
            "Where TFRC has less than the player takes its buffer is empty and nothing is refused, so its part goes to 0; \
             type I keeps the buffer full, and with a queue of a second on the way its reaction comes too late. Figure 13 and \
             this one exclude each other at 48 flows: what arrives at 2.4 times less than 8 packets a second cannot fill a \
             buffer that 6.25 leave."
                .to_owned(),
        ],
        substitute: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_by_cause() {
        let losses = Losses { network: 30.0, buffer: 10.0, sent: 400.0 };
        assert_eq!((losses.overall(), losses.of_the_buffer(), losses.of_the_network()), (0.1, 0.25, 0.075));
    }
}
