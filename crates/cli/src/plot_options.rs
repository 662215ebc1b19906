//! How the plots of `-o` look.

use seaway_lab::plot::PlotStyle;
use seaway_report::plot::Theme;
use std::str::FromStr;

/// Options of the commands whose folders have a plot.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct PlotOptions {
    /// Width of the plots of -o without the legend and height of a panel in pixels, such as 810x200
    #[arg(long, value_name = "WIDTHxHEIGHT", requires = "output")]
    plot_size: Option<PanelSize>,
    /// The ground of the plots of -o: as the reader's screen prefers, light, dark, or for paper with dashes and marks
    #[arg(long, value_enum, default_value_t = ThemeName::Auto, requires = "output")]
    plot_theme: ThemeName,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ThemeName {
    Auto,
    Light,
    Dark,
    Print,
}

/// The size of a panel.
#[derive(Debug, Clone, Copy, PartialEq)]
struct PanelSize {
    width: f64,
    height: f64,
}

impl FromStr for PanelSize {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let side = |text: &str| text.parse::<u16>().ok();
        let sides = text.split_once('x').and_then(|(width, height)| Some((side(width)?, side(height)?)));
        match sides {
            Some((width @ 200..=10_000, height @ 100..=4000)) => {
                Ok(Self { width: f64::from(width), height: f64::from(height) })
            }
            _ => Err("expected WIDTHxHEIGHT, from 200x100 to 10000x4000"),
        }
    }
}

impl PlotOptions {
    /// The style that they choose.
    pub(crate) fn style(self) -> PlotStyle {
        let usual = PlotStyle::default();
        let PanelSize { width, height } =
            self.plot_size.unwrap_or(PanelSize { width: usual.width, height: usual.panel_height });
        let theme = match self.plot_theme {
            ThemeName::Auto => Theme::Auto,
            ThemeName::Light => Theme::Light,
            ThemeName::Dark => Theme::Dark,
            ThemeName::Print => Theme::Print,
        };
        PlotStyle { width, panel_height: height, theme }
    }
}
