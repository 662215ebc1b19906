//! How the size of live-coded pictures follows the rate.

use seaway_media::encoder::LadderRule;

/// The option of `send` and `demo`.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = "Source")]
pub(crate) struct SizesOption {
    /// How the size of pictures that are coded here follows the rate
    #[arg(long, value_enum, default_value_t)]
    sizes: SizesName,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum SizesName {
    /// By bits per pixel, as measured for our encoder
    #[default]
    Live,
    /// By bits per pixel, one step a picture: the rule of ns3-rmcat's codecs, which S004 used
    Ns3Rmcat,
    /// The input's own
    Fixed,
}

impl SizesOption {
    /// What was chosen.
    pub(crate) const fn rule(self) -> LadderRule {
        match self.sizes {
            SizesName::Live => LadderRule::LIVE,
            SizesName::Ns3Rmcat => LadderRule::NS3_RMCAT,
            SizesName::Fixed => LadderRule::FIXED,
        }
    }

    /// Whether another rule than the usual one was asked for.
    pub(crate) fn is_given(self) -> bool {
        self.sizes != SizesName::default()
    }
}
