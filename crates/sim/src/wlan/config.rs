//! What a cell is made of.

use crate::cell::CellError;
use crate::wlan::errors::ErrorModel;
use crate::wlan::mode::{Band, Mode, Standard};
use seaway_units::{Probability, TimeDelta};

/// Metres east and north of some origin.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Position {
    /// East, in metres.
    pub x: f64,
    /// North, in metres.
    pub y: f64,
}

impl Position {
    /// How far it is from one to the other, in metres.
    pub fn distance(self, other: Self) -> f64 {
        libm::hypot(self.x - other.x, self.y - other.y)
    }
}

/// How the mode of data frames is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateChoice {
    /// The same mode all the time.
    Constant,
    /// The fastest mode that loses at most one frame of 1500 octets in a thousand at the ratio of the link. The bound
    /// is ours: ns-3 bounds the bit error rate.
    Ideal,
    /// By trial: ns-3's Minstrel-HT (`docs/models/wlan.md`, section "Rate adaptation").
    Minstrel,
}

/// Whose turn it is at the access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedule {
    /// The station with the oldest packet at the head of its queue, as ns-3.37 does: a station that acknowledges nothing
    /// is served again and again until its packets are too old.
    #[default]
    OldestHead,
    /// One station after the other.
    RoundRobin,
}

/// The priority of a flow (EDCA).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum AccessCategory {
    /// Voice: shortest waits, one frame an access.
    Voice,
    /// Video.
    Video,
    /// Best effort: what is not marked.
    #[default]
    BestEffort,
    /// Background.
    Background,
}

/// A cell: one access point, its stations and their radio. Defaults are those of ns-3.37.
#[derive(Debug, Clone, PartialEq)]
pub struct WlanConfig {
    /// The generation.
    pub standard: Standard,
    /// The band; what it can be depends on the generation.
    pub band: Band,
    /// The channel's width in MHz.
    pub width: u16,
    /// A guard interval of 400 ns instead of 800 ns.
    pub short_guard: bool,
    /// The MCS of data (802.11n, ac); with [`RateChoice::Constant`].
    pub mcs: u8,
    /// The rate of data in bit/s (802.11a, b, g); with [`RateChoice::Constant`].
    pub rate: u64,
    /// Streams of data (802.11ac) and the most that adaptation tries.
    pub streams: u8,
    /// Antennas of every device; at least as many as streams.
    pub antennas: u8,
    /// How the mode is chosen.
    pub choice: RateChoice,
    /// A preamble of 96 µs instead of 192 µs (802.11b).
    pub short_preamble: bool,
    /// How likely frames are lost.
    pub error: ErrorModel,
    /// How likely any frame, acknowledgements among them, is lost at its receiver whatever its signal.
    pub frame_loss: Probability,
    /// The exponent of the path loss.
    pub exponent: f64,
    /// The path loss in dB at 1 m and nearer.
    pub loss_at_1m: f64,
    /// The transmit power in dBm.
    pub power: f64,
    /// The receiver's noise figure in dB.
    pub noise_figure: f64,
    /// A receiver needs −82 dBm and 4 dB to notice a frame. Without it, it notices whatever is above −101 dBm.
    pub preamble_detection: bool,
    /// Transmissions of a frame that is acknowledged alone.
    pub retries: u32,
    /// The largest A-MPDU in octets; zero turns aggregation off.
    pub aggregate: u32,
    /// An exchange of RTS and CTS stands before longer frames, in octets.
    pub rts_threshold: u32,
    /// Beacons are this far apart.
    pub beacon_interval: TimeDelta,
    /// Packets a queue holds; one queue an access category and device.
    pub queue_packets: usize,
    /// How old a packet may become in the queue; `None`: any age.
    pub queue_time: Option<TimeDelta>,
    /// Whose turn it is at the access point.
    pub schedule: Schedule,
    /// The access point's name; its stream of random numbers is chosen by it.
    pub ap: (String, Position),
    /// The stations' names and places.
    pub stations: Vec<(String, Position)>,
    /// The priorities of flows that are not best effort, by [`Packet::flow`](seaway_link::Packet::flow).
    pub categories: Vec<(u32, AccessCategory)>,
}

impl WlanConfig {
    /// A cell of `standard` without stations.
    pub fn new(standard: Standard) -> Self {
        let band = match standard {
            Standard::B | Standard::G => Band::Ghz2,
            _ => Band::Ghz5,
        };
        Self {
            standard,
            band,
            width: if standard == Standard::B { 22 } else { 20 },
            short_guard: false,
            mcs: 0,
            rate: if standard == Standard::B { 11_000_000 } else { 54_000_000 },
            streams: 1,
            antennas: 1,
            choice: RateChoice::Constant,
            short_preamble: false,
            error: ErrorModel::Yans,
            frame_loss: Probability::ZERO,
            exponent: 3.0,
            loss_at_1m: 46.6777,
            power: 16.0206,
            noise_figure: 7.0,
            preamble_detection: true,
            retries: 7,
            aggregate: 65_535,
            rts_threshold: 65_535,
            beacon_interval: TimeDelta::from_micros(102_400),
            queue_packets: 500,
            queue_time: Some(TimeDelta::from_millis(500)),
            schedule: Schedule::OldestHead,
            ap: ("ap".to_owned(), Position::default()),
            stations: Vec::new(),
            categories: Vec::new(),
        }
    }

    /// The names of the queues, two a station: `sta0/down`, `sta0/up`.
    pub fn queue_names(&self) -> Vec<String> {
        let both = |(name, _): &(String, Position)| [format!("{name}/down"), format!("{name}/up")];
        self.stations.iter().flat_map(both).collect()
    }

    /// The mode of data frames with [`RateChoice::Constant`].
    ///
    /// # Errors
    /// What the generation does not have.
    pub fn data_mode(&self) -> Result<Mode, CellError> {
        match self.standard {
            Standard::B => Mode::dsss(self.rate, self.short_preamble),
            Standard::A | Standard::G => Mode::legacy(self.rate),
            Standard::N => Mode::ht(self.mcs, self.width, self.short_guard),
            Standard::Ac => Mode::vht(self.mcs, self.width, self.short_guard, self.streams),
        }
    }

    /// All modes that adaptation may choose from, slowest first; of equal ones the one with fewer streams first.
    pub(crate) fn all_modes(&self) -> Vec<Mode> {
        let rates = |mbps: &[u64], make: &dyn Fn(u64) -> Result<Mode, CellError>| {
            mbps.iter().filter_map(|&rate| make(rate).ok()).collect::<Vec<_>>()
        };
        let mut modes = match self.standard {
            Standard::B => rates(&[1_000_000, 2_000_000, 5_500_000, 11_000_000], &|rate| {
                Mode::dsss(rate, self.short_preamble)
            }),
            Standard::A | Standard::G => {
                let mbps = [6, 9, 12, 18, 24, 36, 48, 54].map(|mbps| mbps * 1_000_000);
                rates(&mbps, &Mode::legacy)
            }
            Standard::N => (0..8 * self.streams.min(4))
                .filter_map(|mcs| Mode::ht(mcs, self.width, self.short_guard).ok())
                .collect(),
            Standard::Ac => (1..=self.streams)
                .flat_map(|streams| (0..10).map(move |mcs| (streams, mcs)))
                .filter_map(|(streams, mcs)| Mode::vht(mcs, self.width, self.short_guard, streams).ok())
                .collect(),
        };
        modes.sort_by_key(|mode| (mode.rate, mode.streams));
        modes
    }

    /// Finds the first setting that does not hold.
    ///
    /// # Errors
    /// Which, and what would be valid.
    pub fn check(&self) -> Result<(), CellError> {
        let require = |holds: bool, field: &str, expected: &str| {
            if holds { Ok(()) } else { Err(CellError::new(field, expected)) }
        };
        let band_fits = match self.standard {
            Standard::B | Standard::G => self.band == Band::Ghz2,
            Standard::A | Standard::Ac => self.band == Band::Ghz5,
            Standard::N => true,
        };
        require(band_fits, "band", "802.11b and g work at 2.4 GHz, 802.11a and ac at 5 GHz")?;
        let width_fits = match self.standard {
            Standard::B => self.width == 22,
            Standard::A | Standard::G => self.width == 20,
            Standard::N => self.width == 20 || self.width == 40,
            Standard::Ac => [20, 40, 80, 160].contains(&self.width),
        };
        require(
            width_fits,
            "width",
            "802.11n has 20 and 40 MHz, 802.11ac 20, 40, 80 and 160 MHz, the others one width",
        )?;
        let most = if self.standard == Standard::N { 4 } else { 8 };
        require((1..=most).contains(&self.streams), "streams", "802.11n has 1 to 4, 802.11ac 1 to 8")?;
        self.data_mode()?;
        let streams = if self.standard == Standard::N {
            self.streams.max(self.data_mode()?.streams)
        } else {
            self.streams
        };
        let antennas = (streams..=8).contains(&self.antennas);
        require(antennas, "antennas", "expected at least as many as streams and at most 8")?;
        require((1.0..=10.0).contains(&self.exponent), "path_loss.exponent", "expected 1 to 10")?;
        require(
            (-100.0..=200.0).contains(&self.loss_at_1m),
            "path_loss.at_1m",
            "expected -100 dB to 200 dB",
        )?;
        require((-100.0..=100.0).contains(&self.power), "power", "expected -100 dBm to 100 dBm")?;
        require((0.0..=100.0).contains(&self.noise_figure), "noise_figure", "expected 0 dB to 100 dB")?;
        require((1..=255).contains(&self.retries), "retries", "expected 1 to 255")?;
        let largest = if self.standard == Standard::N { 65_535 } else { 1_048_575 };
        require(self.aggregate <= largest, "aggregate", "expected at most 65535 B, 1048575 B with 802.11ac")?;
        let interval = TimeDelta::from_millis(10)..=TimeDelta::from_secs(65);
        require(interval.contains(&self.beacon_interval), "beacon_interval", "expected 10 ms to 65 s")?;
        require((1..=100_000).contains(&self.queue_packets), "ap.queue.packets", "expected 1 to 100000")?;
        let time = self.queue_time.is_none_or(|time| time > TimeDelta::ZERO);
        require(time, "ap.queue.time", "expected a time above zero")?;
        require((1..=MOST_STATIONS).contains(&self.stations.len()), "station", "expected 1 to 500 stations")?;
        let sound = |at: Position| at.x.abs() <= 1e6 && at.y.abs() <= 1e6;
        let all = std::iter::once(&self.ap).chain(&self.stations);
        require(
            all.into_iter().all(|(_, at)| sound(*at)),
            "station",
            "expected places within 1000 km of the origin",
        )
    }
}

/// Powers are kept for every pair.
const MOST_STATIONS: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_names_what_does_not_hold() {
        let mut config = WlanConfig::new(Standard::Ac);
        assert_eq!(config.check().unwrap_err().key, "station");
        config.stations.push(("sta0".to_owned(), Position { x: 5.0, y: 0.0 }));
        assert_eq!(config.check(), Ok(()));
        config.width = 30;
        assert_eq!(config.check().unwrap_err().key, "width");
        config.width = 80;
        config.mcs = 10;
        assert_eq!(config.check().unwrap_err().key, "mcs");
        let bad = WlanConfig { exponent: f64::NAN, mcs: 4, ..config };
        assert_eq!(bad.check().unwrap_err().key, "path_loss.exponent");
    }
}
