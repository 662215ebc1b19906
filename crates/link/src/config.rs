//! The text form of a link.

use crate::bucket::BucketConfig;
use crate::capacity::{RateStep, Schedule};
use crate::error::{Error, in_order, not_negative};
use crate::jitter::JitterConfig;
use crate::loss::{LossConfig, RecordedLoss};
use crate::plan::{CapacityPlan, LinkPlan};
use crate::queue::{Nominal, QueueConfig};
use crate::server::InService;
use crate::trace::{self, Recording, Trace, TraceConfig};
use seaway_units::{Bitrate, TimeDelta, Timestamp};
use serde::Deserialize;
use std::sync::Arc;

/// One direction of a link, as a scenario writes it. Unknown keys are refused; what does not hold together is found
/// by [`LinkConfig::plan`].
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkConfig {
    /// The first rate; counts IP datagrams. Above zero. Beside a trace it is what limits in time refer to; the trace's
    /// mean where absent.
    pub rate: Option<Bitrate>,
    /// Changes of the rate: instant, rate. A rate holds to the next change; the packet in service finishes at the
    /// rate it started with.
    pub steps: Vec<(TimeDelta, Bitrate)>,
    /// Recorded capacity instead of `rate` and `steps`; the packet in service follows it.
    pub trace: Option<TraceConfig>,
    /// Propagation, one way.
    pub delay: TimeDelta,
    /// Changes of the propagation delay, as by another route: instant, delay. It holds for what is served from then on; over a
    /// shorter route packets overtake those of the longer one.
    pub delay_steps: Vec<(TimeDelta, TimeDelta)>,
    /// The queue in front of the server.
    pub queue: Option<QueueConfig>,
    /// Before the queue: what finds no token is dropped.
    pub policer: Option<BucketConfig>,
    /// Behind the queue: the head waits for its tokens.
    pub shaper: Option<BucketConfig>,
    /// Variation of the delay.
    pub jitter: Option<JitterConfig>,
    /// Loss on the channel.
    pub loss: Option<LossConfig>,
    /// Spans in which nothing is served, from and to; the packet in service freezes and resumes.
    pub outage: Vec<(TimeDelta, TimeDelta)>,
}

impl LinkConfig {
    /// Checks every value but the contents of files.
    ///
    /// # Errors
    /// Names the field, what was found and what would be valid.
    pub fn check(&self) -> Result<(), Error> {
        // Stand for the files: any rate will do, and the highest lets every limit in time pass.
        let stand_in = self.trace.is_some().then(|| Trace::parse("0 1000000", None, true)).transpose()?;
        let no_loss = trace::parse_loss("0 0", None, true)?;
        self.assemble(stand_in.as_ref(), Some(no_loss)).map(drop)
    }

    /// Checks every value of a link that reads no file.
    ///
    /// # Errors
    /// As [`LinkConfig::plan_with`]; a link that reads a file is refused.
    pub fn plan(&self) -> Result<LinkPlan, Error> {
        self.plan_with(&mut |_| Err("no file can be read here".to_owned()))
    }

    /// Checks every value. `read` gives the text of a file, or says why it cannot.
    ///
    /// # Errors
    /// Names the field, what was found and what would be valid; within a trace, the line.
    pub fn plan_with(&self, read: &mut dyn FnMut(&str) -> Result<String, String>) -> Result<LinkPlan, Error> {
        let trace = self.trace.as_ref().map(|trace| trace.load(read)).transpose()?;
        let recording = match &self.loss {
            Some(LossConfig::Trace { file, series, repeats, .. }) => {
                let text = trace::load("loss.file", file, read)?;
                Some(trace::parse_loss(&text, series.as_deref(), *repeats)?)
            }
            _ => None,
        };
        self.assemble(trace.as_ref(), recording)
    }

    fn assemble(&self, trace: Option<&Trace>, recording: Option<RecordedLoss>) -> Result<LinkPlan, Error> {
        let (capacity, nominal) = match trace {
            Some(trace) => self.traced_capacity(trace)?,
            None => self.stepped_capacity()?,
        };
        let queue = self.queue.clone().ok_or_else(|| {
            Error::config("queue", "nothing", "a queue such as { kind = \"drop-tail\", packets = 100 }")
        })?;
        queue.check(Nominal { rate: nominal, delay: self.delay })?;
        Ok(LinkPlan {
            nominal,
            outages: self.outages()?,
            delay: not_negative("delay", self.delay)?,
            delay_steps: self.delay_steps()?,
            queue,
            policer: self.policer.map(|bucket| bucket.check("policer")).transpose()?,
            shaper: self.shaper(&capacity)?,
            jitter: self.jitter.map(|jitter| jitter.check(self.least_delay())).transpose()?,
            loss: self.loss.as_ref().map(|loss| loss.model(recording)).transpose()?,
            capacity,
        })
    }

    /// The way back of a link that goes both ways: rate, delay and queue of this one unless `reverse` gives its own,
    /// and all else from `reverse` alone.
    pub fn way_back(&self, reverse: &LinkConfig) -> LinkConfig {
        let delay = if reverse.delay == TimeDelta::ZERO { self.delay } else { reverse.delay };
        LinkConfig {
            rate: reverse.rate.or(if reverse.trace.is_none() { self.rate } else { None }),
            delay,
            queue: reverse.queue.clone().or_else(|| self.queue.clone()),
            ..reverse.clone()
        }
    }

    fn stepped_capacity(&self) -> Result<(CapacityPlan, Bitrate), Error> {
        let expected = "a rate above zero such as \"2.5 Mbit/s\"";
        let initial = self.rate.ok_or_else(|| Error::config("rate", "nothing", expected))?;
        if initial == Bitrate::ZERO {
            return Err(Error::config("rate", initial, expected));
        }
        in_order("steps", self.steps.iter().map(|(at, _)| *at))?;
        let steps = self.steps.iter().map(|&(at, rate)| RateStep { at, rate }).collect();
        let schedule = Schedule { initial, steps, period: None, end: TimeDelta::ZERO };
        Ok((CapacityPlan::Rates(schedule, InService::KeepsItsRate), initial))
    }

    fn least_delay(&self) -> TimeDelta {
        self.delay_steps.iter().fold(self.delay, |least, (_, delay)| least.min(*delay))
    }

    fn delay_steps(&self) -> Result<Arc<[(Timestamp, TimeDelta)]>, Error> {
        in_order("delay_steps", self.delay_steps.iter().map(|(at, _)| *at))?;
        let step = |&(at, delay)| Ok((Timestamp::ZERO + at, not_negative("delay_steps", delay)?));
        self.delay_steps.iter().map(step).collect()
    }

    fn traced_capacity(&self, trace: &Trace) -> Result<(CapacityPlan, Bitrate), Error> {
        if !self.steps.is_empty() {
            return Err(Error::config("steps", "steps beside a trace", "one of the two"));
        }
        let nominal = self.rate.unwrap_or(trace.mean_rate());
        if nominal == Bitrate::ZERO {
            return Err(Error::config("rate", nominal, "a rate above zero"));
        }
        let capacity = match &trace.0 {
            Recording::Rates(schedule) => CapacityPlan::Rates(schedule.clone(), InService::FollowsTheRate),
            Recording::Opportunities(opportunities) => CapacityPlan::Opportunities(opportunities.clone()),
        };
        Ok((capacity, nominal))
    }

    fn shaper(&self, capacity: &CapacityPlan) -> Result<Option<BucketConfig>, Error> {
        match (self.shaper, capacity) {
            (Some(_), CapacityPlan::Opportunities(_)) => {
                Err(Error::config("shaper", "a shaper on a trace of opportunities", "a rate to shape"))
            }
            (shaper, _) => shaper.map(|bucket| bucket.check("shaper")).transpose(),
        }
    }

    fn outages(&self) -> Result<Arc<[(Timestamp, Timestamp)]>, Error> {
        let mut last = TimeDelta::from_nanos(-1);
        for &(from, to) in &self.outage {
            if from <= last || to <= from {
                let found = format!("[{from}, {to}]");
                let expected = "spans from 0 s on, none empty, each later than the end of the one before";
                return Err(Error::config("outage", found, expected));
            }
            last = to;
        }
        let instant = |at| Timestamp::ZERO + at;
        Ok(self.outage.iter().map(|&(from, to)| (instant(from), instant(to))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::LossPlace;

    fn plan(text: &str) -> Result<LinkPlan, String> {
        let config: LinkConfig = toml::from_str(text).map_err(|error| error.message().to_string())?;
        config.plan().map_err(|error| error.to_string())
    }

    const BASE: &str = "rate = '10 Mbit/s'\nqueue = { kind = 'drop-tail', packets = 100 }\n";

    fn refusal(line: &str) -> String {
        plan(&format!("{BASE}{line}")).unwrap_err()
    }

    #[test]
    fn a_whole_link() {
        let link = plan(
            r#"
            rate = "10 Mbit/s"
            steps = [["40 s", "2.5 Mbit/s"], ["60 s", "10 Mbit/s"]]
            delay = "42 ms"
            queue = { kind = "drop-tail", time = "300 ms" }
            loss = { kind = "gilbert-elliott", mean = 0.02, burst = 4 }
            jitter = { kind = "rfc8868", std = "5 ms", mean = "0 ms" }
            outage = [["70 s", "80 s"]]
            "#,
        )
        .unwrap();
        assert!(matches!(link.capacity, CapacityPlan::Rates(schedule, _) if schedule.steps.len() == 2));
        assert_eq!(link.outages.len(), 1);
        assert_eq!(link.delay, TimeDelta::from_millis(42));
        assert!(matches!(link.loss, Some((_, LossPlace::Exit))));
    }

    #[test]
    fn what_does_not_apply_is_refused() {
        for (line, expected) in [
            ("colour = 1", "unknown field `colour`"),
            ("delay = '-1 ms'", "delay: found -1 ms, expected a time not below zero"),
            ("delay = 5", "invalid type"),
            ("steps = [['2 s', '1 Mbit/s'], ['1 s', '1 Mbit/s']]", "steps: found 1 s"),
            ("delay_steps = [['2 s', '9 ms'], ['2 s', '5 ms']]", "delay_steps: found 2 s"),
            ("delay_steps = [['2 s', '-9 ms']]", "delay_steps: found -9 ms"),
            ("outage = [['2 s', '2 s']]", "outage: found [2 s, 2 s]"),
            ("outage = [['1 s', '3 s'], ['3 s', '4 s']]", "outage: found [3 s, 4 s]"),
            ("loss = { kind = 'independent', rate = 1.5 }", "loss.rate: found 1.5"),
            ("loss = { kind = 'independent', rate = 0.1, burst = 4 }", "unknown field `burst`"),
            ("loss = { kind = 'periodic', every = 0 }", "loss.every: found 0"),
            ("loss = { kind = 'gilbert-elliott', mean = 0.1 }", "loss: found another combination"),
            ("loss = { kind = 'gilbert-elliott', mean = 0.1, burst = 2, bad = 1 }", "loss: found another"),
            ("loss = { kind = 'gilbert-elliott', mean = 0.9, burst = 1 }", "loss.burst: found 1"),
            ("loss = { kind = 'gilbert-elliott', p = 2, r = 1 }", "loss.p: found 2"),
            ("loss = { kind = 'steps', steps = [] }", "loss.steps: found nothing"),
            ("loss = { kind = 'steps', steps = [['1 s', 0.1]] }", "loss.steps: found 1 s"),
            ("loss = { kind = 'steps', steps = [['0 s', 0.1], ['0 s', 0]] }", "loss.steps: found 0 s"),
            ("loss = { kind = 'steps', steps = [['0 s', 2]] }", "loss.steps: found 2"),
            ("loss = { kind = 'steps', steps = [['0 s', 0.1]], period = '0 s' }", "loss.period: found 0 s"),
            ("jitter = { kind = 'rfc8868', std = '0 ms' }", "jitter.std: found 0 s"),
            ("jitter = { kind = 'rfc8868' }", "missing field `std`"),
            ("delay = '14 ms'\njitter = { kind = 'reordering', std = '5 ms' }", "jitter.std: found 5 ms"),
            ("shaper = { rate = '0 bit/s', burst = '2 kB' }", "shaper.rate: found 0 bit/s"),
            ("policer = { rate = '1 Mbit/s', burst = '100 B' }", "policer.burst: found 100 B"),
        ] {
            let refusal = refusal(line);
            assert!(refusal.contains(expected), "{line}: {refusal}");
        }
        let rest = "queue = { kind = 'drop-tail', packets = 100 }";
        assert!(plan(rest).unwrap_err().contains("rate: found nothing"));
        assert!(plan(&format!("rate = '0 bit/s'\n{rest}")).unwrap_err().contains("rate: found 0 bit/s"));
        assert!(plan("rate = '1 Mbit/s'").unwrap_err().contains("queue: found nothing"));
    }

    #[test]
    fn queues_that_do_not_hold_together_are_refused() {
        for (keys, expected) in [
            ("", "queue: found no limit"),
            ("packets = 1, time = '1 s'", "queue: found several limits"),
            ("packets = 0", "queue.packets: found 0"),
            ("bytes = '100 B'", "queue.bytes: found 100 B"),
            ("time = '1 us'", "queue.time: found 1 B"),
            ("packets = 5, live = true", "queue.live"),
            ("packets = 5, count_in_service = true", "queue.count_in_service"),
            ("sojourn = '0 s'", "queue.sojourn: found 0 s"),
            ("packets = 5, target = '5 ms'", "unknown field `target`"),
        ] {
            let comma = if keys.is_empty() { "" } else { ", " };
            let text = format!("rate = '10 Mbit/s'\nqueue = {{ kind = 'drop-tail'{comma}{keys} }}");
            let refusal = plan(&text).unwrap_err();
            assert!(refusal.contains(expected), "{keys}: {refusal}");
        }
    }

    #[test]
    fn the_way_back_copies_rate_delay_and_queue_alone() {
        let text = format!("{BASE}delay = '5 ms'\nloss = {{ kind = 'periodic', every = 2 }}");
        let forward: LinkConfig = toml::from_str(&text).unwrap();
        let reverse: LinkConfig =
            toml::from_str("rate = '1 Mbit/s'\nloss = { kind = 'independent', rate = 0.01 }").unwrap();
        let back = forward.way_back(&reverse);
        assert_eq!(back.rate, Some(Bitrate::from_mbps(1)));
        assert_eq!((back.delay, &back.queue), (forward.delay, &forward.queue));
        assert_eq!(back.loss, reverse.loss);
        assert_eq!(forward.way_back(&LinkConfig::default()).loss, None);
    }
}
