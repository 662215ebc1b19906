//! From a queue's text form to the discipline: defaults, and what holds together.

use super::config::{
    CoDelConfig, DropTailConfig, DualPi2Config, DualPi2Scheduler, FqCoDelConfig, LimitConfig, PieConfig,
    PieMeasure, QueueConfig, RedConfig, RedPreset,
};
use super::{Discipline, Limit, Nominal, codel, droptail, dualpi2, fq_codel, pie, red};
use crate::error::Error;
use seaway_units::{DataSize, TimeDelta};

/// What is limited in octets must hold at least this: a full Ethernet payload.
pub(crate) const LARGEST_PACKET: DataSize = DataSize::from_bytes(1500);

impl QueueConfig {
    /// Whether the values hold together in front of a transmitter like `nominal`.
    ///
    /// # Errors
    /// Names the field, what was found and what would be valid.
    pub fn check(&self, nominal: Nominal) -> Result<(), Error> {
        self.discipline::<()>(nominal).map(drop)
    }

    pub(super) fn discipline<P>(&self, nominal: Nominal) -> Result<Discipline<P>, Error> {
        Ok(match self {
            Self::DropTail(config) => Discipline::DropTail(config.build(nominal)?),
            Self::Red(config) => {
                let limit = config.limit.or(nominal, Limit::PacketsWaiting(RedConfig::LIMIT))?;
                Discipline::Red(red::Red::new(config.parameters(nominal)?, limit))
            }
            Self::CoDel(config) => {
                let limit = config.limit.or(nominal, Limit::PacketsWaiting(CoDelConfig::LIMIT))?;
                Discipline::CoDel(codel::CoDel::new(config.parameters()?, limit))
            }
            Self::FqCoDel(config) => Discipline::FqCoDel(config.build(nominal)?),
            Self::Pie(config) => {
                let limit = config.limit.or(nominal, Limit::PacketsWaiting(PieConfig::LIMIT))?;
                Discipline::Pie(pie::Pie::new(config.parameters()?, limit))
            }
            Self::DualPi2(config) => {
                let limit =
                    config.limit.or(nominal, Limit::Bytes(nominal.rate.size_in(DualPi2Config::LIMIT)))?;
                Discipline::DualPi2(dualpi2::DualPi2::new(config.parameters()?, limit))
            }
        })
    }
}

impl LimitConfig {
    /// The limit given, if any.
    fn given(&self, nominal: Nominal) -> Result<Option<Limit>, Error> {
        let given = [
            self.packets.is_some(),
            self.packets_waiting.is_some(),
            self.bytes.is_some(),
            self.time.is_some(),
        ];
        if given.iter().filter(|&&is_given| is_given).count() > 1 {
            return Err(Error::config(
                "queue",
                "several limits",
                "one of packets, packets_waiting, bytes, time",
            ));
        }
        if self.live && self.time.is_none() {
            return Err(Error::config("queue.live", true, "only beside time"));
        }
        if self.count_in_service && (self.live || (self.bytes.is_none() && self.time.is_none())) {
            let expected = "only beside bytes, or time without live";
            return Err(Error::config("queue.count_in_service", true, expected));
        }
        Ok(Some(match *self {
            Self { packets: Some(packets), .. } => Limit::Packets(positive("queue.packets", packets)?),
            Self { packets_waiting: Some(packets), .. } => {
                Limit::PacketsWaiting(positive("queue.packets_waiting", packets)?)
            }
            Self { bytes: Some(bytes), .. } => self.in_octets("queue.bytes", bytes)?,
            Self { time: Some(time), live: true, .. } => Limit::LiveTime(span("queue.time", time)?),
            Self { time: Some(time), .. } => {
                self.in_octets("queue.time", nominal.rate.size_in(span("queue.time", time)?))?
            }
            _ => return Ok(None),
        }))
    }

    fn or(&self, nominal: Nominal, default: Limit) -> Result<Limit, Error> {
        self.given(nominal).map(|given| given.unwrap_or(default))
    }

    fn in_octets(&self, field: &str, bytes: DataSize) -> Result<Limit, Error> {
        if bytes < LARGEST_PACKET {
            Err(Error::config(field, bytes, format!("room for a packet of {LARGEST_PACKET}")))
        } else if self.count_in_service {
            Ok(Limit::BytesInAll(bytes))
        } else {
            Ok(Limit::Bytes(bytes))
        }
    }
}

impl DropTailConfig {
    /// Packets that a queue limited by `sojourn` alone holds at most.
    pub const HARD_LIMIT: u64 = 10_000;

    /// A limit in packets, the one in service included.
    pub fn packets(packets: u64) -> Self {
        Self { limit: LimitConfig { packets: Some(packets), ..LimitConfig::default() }, ..Self::default() }
    }

    /// A limit in time at the link's first rate.
    pub fn time(time: TimeDelta) -> Self {
        Self { limit: LimitConfig { time: Some(time), ..LimitConfig::default() }, ..Self::default() }
    }

    fn build<P>(&self, nominal: Nominal) -> Result<droptail::DropTail<P>, Error> {
        let lifetime = self.sojourn.map(|sojourn| span("queue.sojourn", sojourn)).transpose()?;
        let limit = match self.limit.given(nominal)? {
            Some(limit) => limit,
            None if lifetime.is_some() => Limit::PacketsWaiting(Self::HARD_LIMIT),
            None => {
                let expected = "one of packets, packets_waiting, bytes, time, sojourn";
                return Err(Error::config("queue", "no limit", expected));
            }
        };
        let room = self.room.map(|room| size("queue.room", room)).transpose()?;
        match (limit, room) {
            (Limit::Bytes(bytes) | Limit::BytesInAll(bytes), Some(room)) if room > bytes => {
                Err(Error::config("queue.room", room, format!("at most the queue's {bytes}")))
            }
            (Limit::Packets(_) | Limit::PacketsWaiting(_), Some(room)) => {
                Err(Error::config("queue.room", room, "only beside bytes or time"))
            }
            _ => Ok(droptail::DropTail::new(limit, lifetime, self.drop_front, room)),
        }
    }
}

impl Default for RedConfig {
    fn default() -> Self {
        Self {
            limit: LimitConfig::default(),
            preset: RedPreset::Ns2C,
            min: None,
            max: None,
            max_p: 0.1,
            weight: None,
            gentle: None,
            wait: None,
            byte_mode: false,
            mean_packet: DataSize::from_bytes(1000),
            adaptive: false,
            mark: false,
            mark_below: 0.1,
        }
    }
}

impl RedConfig {
    const LIMIT: u64 = 250;

    pub(super) fn parameters(&self, nominal: Nominal) -> Result<red::Parameters, Error> {
        let mean_size = size("queue.mean_packet", self.mean_packet)?;
        let packets_per_second = nominal.rate.as_bps_f64() / (8.0 * mean_size.as_bytes_f64());
        let is_ns2 = self.preset != RedPreset::Rfc2309;
        let (min, max, weight) = self.thresholds(packets_per_second, nominal.delay)?;
        let parameters = red::Parameters {
            min,
            max,
            max_p: fraction("queue.max_p", self.max_p)?,
            weight: fraction("queue.weight", weight)?,
            gentle: self.gentle.unwrap_or(is_ns2),
            wait: self.wait.unwrap_or(is_ns2),
            byte_mode: self.byte_mode,
            mean_size,
            packets_per_second,
            mark: self.mark,
            mark_below: fraction("queue.mark_below", self.mark_below)?,
            adapt_down_to: self.adaptive.then(|| (80_000.0 / nominal.rate.as_bps_f64()).min(0.01)),
        };
        if !(parameters.min > 0.0 && parameters.max > parameters.min && parameters.max.is_finite()) {
            let found = format!("min {min}, max {max}");
            return Err(Error::config("queue", found, "min above 0 and max above min"));
        }
        Ok(parameters)
    }

    /// min, max and w_q, given or of the preset.
    fn thresholds(&self, packets_per_second: f64, delay: TimeDelta) -> Result<(f64, f64, f64), Error> {
        let (min, max, weight) = match self.preset {
            RedPreset::Ns2C => (Some(25.0), Some(125.0), 0.002),
            RedPreset::Auto => {
                let min = self.min.unwrap_or((0.0025 * packets_per_second).max(5.0));
                let rtt = (3.0 * (delay.as_secs_f64() + 1.0 / packets_per_second)).max(0.1);
                (Some(min), Some(3.0 * min), 1.0 - libm::exp(-1.0 / (10.0 * rtt * packets_per_second)))
            }
            RedPreset::Rfc2309 => (None, None, 0.002),
        };
        let given = |field: &str, value: Option<f64>, preset: Option<f64>| {
            value
                .or(preset)
                .ok_or_else(|| Error::config(field, "nothing", "a number of packets; RFC 2309 has none"))
        };
        let min = given("queue.min", self.min, min)?;
        Ok((min, given("queue.max", self.max, max)?, self.weight.unwrap_or(weight)))
    }
}

impl Default for CoDelConfig {
    fn default() -> Self {
        Self {
            limit: LimitConfig::default(),
            target: TimeDelta::from_millis(5),
            interval: TimeDelta::from_millis(100),
            // RFC 8289 section 4.2: SHOULD be the interface's MTU; Ethernet with its header.
            max_packet: DataSize::from_bytes(1514),
            mark: false,
            ce_threshold: None,
        }
    }
}

impl CoDelConfig {
    const LIMIT: u64 = 1000;

    fn parameters(&self) -> Result<codel::Parameters, Error> {
        Ok(codel::Parameters {
            target: span("queue.target", self.target)?,
            interval: span("queue.interval", self.interval)?,
            max_packet: size("queue.max_packet", self.max_packet)?,
            mark: self.mark,
            ce_threshold: self
                .ce_threshold
                .map(|threshold| span("queue.ce_threshold", threshold))
                .transpose()?,
        })
    }
}

impl Default for FqCoDelConfig {
    fn default() -> Self {
        let codel = CoDelConfig::default();
        Self {
            limit: codel.limit,
            flows: 1024,
            quantum: DataSize::from_bytes(1514),
            target: codel.target,
            interval: codel.interval,
            max_packet: codel.max_packet,
            mark: true,
            ce_threshold: None,
        }
    }
}

impl FqCoDelConfig {
    const LIMIT: u64 = 10_240;
    const MOST_FLOWS: usize = 65_536;

    fn build<P>(&self, nominal: Nominal) -> Result<fq_codel::FqCoDel<P>, Error> {
        if !(1..=Self::MOST_FLOWS).contains(&self.flows) {
            return Err(Error::config("queue.flows", self.flows, format!("from 1 to {}", Self::MOST_FLOWS)));
        }
        let limit = self.limit.or(nominal, Limit::PacketsWaiting(Self::LIMIT))?;
        let codel = CoDelConfig {
            limit: self.limit,
            target: self.target,
            interval: self.interval,
            max_packet: self.max_packet,
            mark: self.mark,
            ce_threshold: self.ce_threshold,
        };
        let quantum = size("queue.quantum", self.quantum)?;
        Ok(fq_codel::FqCoDel::new(codel.parameters()?, limit, self.flows, quantum))
    }
}

impl Default for PieConfig {
    fn default() -> Self {
        Self {
            limit: LimitConfig::default(),
            target: TimeDelta::from_millis(15),
            update: TimeDelta::from_millis(15),
            max_burst: TimeDelta::from_millis(150),
            measure: PieMeasure::Timestamp,
            mark: false,
            mark_below: 0.1,
            cap: false,
        }
    }
}

impl PieConfig {
    const LIMIT: u64 = 1000;

    fn parameters(&self) -> Result<pie::Parameters, Error> {
        if self.max_burst.is_negative() {
            return Err(Error::config("queue.max_burst", self.max_burst, "a time not below zero"));
        }
        Ok(pie::Parameters {
            target: span("queue.target", self.target)?,
            update: period("queue.update", self.update)?,
            max_burst: self.max_burst,
            measure: match self.measure {
                PieMeasure::Timestamp => pie::Measure::Timestamp,
                PieMeasure::Rate => pie::Measure::Rate,
            },
            mark: self.mark,
            mark_below: fraction("queue.mark_below", self.mark_below)?,
            cap: self.cap,
        })
    }
}

impl Default for DualPi2Config {
    fn default() -> Self {
        Self {
            limit: LimitConfig::default(),
            target: TimeDelta::from_millis(15),
            max_rtt: TimeDelta::from_millis(100),
            coupling: 2.0,
            min_threshold: TimeDelta::from_micros(800),
            range: TimeDelta::from_micros(400),
            scheduler: DualPi2Scheduler::RoundRobin,
            mark: true,
        }
    }
}

impl DualPi2Config {
    const LIMIT: TimeDelta = TimeDelta::from_millis(250);
    const SHIFT: TimeDelta = TimeDelta::from_millis(50);

    fn parameters(&self) -> Result<dualpi2::Parameters, Error> {
        if !(self.coupling.is_finite() && self.coupling > 0.0) {
            return Err(Error::config("queue.coupling", self.coupling, "a number above 0"));
        }
        for (field, value) in [("queue.min_threshold", self.min_threshold), ("queue.range", self.range)] {
            if value.is_negative() {
                return Err(Error::config(field, value, "a time not below zero"));
            }
        }
        Ok(dualpi2::Parameters {
            target: period("queue.target", self.target)?,
            max_rtt: period("queue.max_rtt", self.max_rtt)?,
            coupling: self.coupling,
            min_threshold: self.min_threshold,
            range: self.range,
            scheduler: match self.scheduler {
                DualPi2Scheduler::RoundRobin => dualpi2::Scheduler::RoundRobin,
                DualPi2Scheduler::TimeShifted => dualpi2::Scheduler::TimeShifted(Self::SHIFT),
            },
            mark: self.mark,
        })
    }
}

fn positive(field: &str, packets: u64) -> Result<u64, Error> {
    if packets == 0 { Err(Error::config(field, packets, "at least 1")) } else { Ok(packets) }
}

fn size(field: &str, size: DataSize) -> Result<DataSize, Error> {
    if size.is_zero() { Err(Error::config(field, size, "a size above zero")) } else { Ok(size) }
}

fn span(field: &str, span: TimeDelta) -> Result<TimeDelta, Error> {
    if span > TimeDelta::ZERO { Ok(span) } else { Err(Error::config(field, span, "a time above zero")) }
}

/// A time that a timer runs on: below this, updates would cost more than the packets.
fn period(field: &str, period: TimeDelta) -> Result<TimeDelta, Error> {
    const SHORTEST: TimeDelta = TimeDelta::from_micros(100);
    if period >= SHORTEST {
        Ok(period)
    } else {
        Err(Error::config(field, period, format!("at least {SHORTEST}")))
    }
}

fn fraction(field: &str, value: f64) -> Result<f64, Error> {
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(Error::config(field, value, "a number from 0 to 1"))
    }
}
