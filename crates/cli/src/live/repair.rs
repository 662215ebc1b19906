//! Options of latency and of the repair of lost packets.

use crate::failure::Failure;
use seaway_stream::{PlayoutMode, Repair};
use seaway_units::TimeDelta;

/// The options of `send` and `demo`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Rate and repair")]
pub(crate) struct RepairOptions {
    /// How lost packets are repaired
    #[arg(long, value_enum, default_value_t)]
    repair: RepairName,
    /// The latency: the longest time from capture to display, without the least delay of the path. It sets the deadlines of repair,
    /// send queue and playout; give `recv` the same value
    #[arg(long, default_value = "500 ms", value_name = "TIME")]
    pub(crate) latency: TimeDelta,
}

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum RepairName {
    /// Not at all
    Off,
    /// By retransmission
    Nack,
    /// By forward error correction
    Fec,
    /// By either, chosen by loss, round-trip time and latency
    #[default]
    Adaptive,
}

/// The option of `recv` and `demo`.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = "Playing")]
pub(crate) struct PlayoutOption {
    /// When complete frames are shown
    #[arg(long, value_enum, default_value_t)]
    playout: PlayoutName,
}

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum PlayoutName {
    /// As soon as they are complete
    #[default]
    LowLatency,
    /// At a constant delay after their capture
    Smooth,
}

impl PlayoutOption {
    /// What was chosen.
    pub(crate) const fn mode(self) -> PlayoutMode {
        match self.playout {
            PlayoutName::LowLatency => PlayoutMode::LowLatency,
            PlayoutName::Smooth => PlayoutMode::Smooth,
        }
    }
}

impl RepairOptions {
    /// What was chosen.
    pub(crate) fn repair(&self) -> Result<Repair, Failure> {
        check_latency(self.latency)?;
        Ok(match self.repair {
            RepairName::Off => Repair::Off,
            RepairName::Nack => Repair::Nack,
            RepairName::Fec => Repair::Fec,
            RepairName::Adaptive => Repair::Adaptive,
        })
    }
}

/// Whether a frame may be so late.
pub(crate) fn check_latency(latency: TimeDelta) -> Result<(), Failure> {
    if latency <= TimeDelta::ZERO || latency > TimeDelta::from_secs(10) {
        return Err(Failure::input(&format!("--latency {latency}: expected above 0 s, up to 10 s")));
    }
    Ok(())
}
