//! The scenarios of a comparison: the same but for the controller.

use super::{Comparison, Contender, Take};
use crate::run::RecordingOptions;
use crate::scenario::{Encoder, FlowKind, MediaFlow, Scenario, Source};
use crate::video::{SharedClip, Tape, TapeConfig};
use seaway_control::{ControlSpec, registry};
use seaway_media::input::PictureSource;
use seaway_media::{Error, FrameRate, PictureSize};
use seaway_units::{TimeDelta, Timestamp};

/// What is to be compared.
#[derive(Debug, Clone)]
pub struct Contest {
    /// With the watched flow sending a clip.
    scenario: Scenario,
    /// Where the watched flow stands.
    flow: usize,
    controls: Vec<ControlSpec>,
    seeds: u16,
    video: Video,
    /// Only the watched flow takes the controller; otherwise all media flows do.
    alone: bool,
    tape: TapeConfig,
}

/// The video that is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Video {
    /// Its file, or what the bundled clip is called.
    pub name: String,
    /// Its own size.
    pub size: PictureSize,
    /// Pictures a second.
    pub frame_rate: FrameRate,
    /// The size of the films.
    pub filmed: PictureSize,
}

/// All films of a page together take about this many octets.
const FILMS: f64 = 3.0e6;
/// Of the films' pictures: the finest quantiser at which a film's faults are not those of the network.
const QUANTISER: u8 = 30;
/// Bits a pixel costs at that quantiser: the bundled clip takes 0.07 at 240 rows.
const BITS_PER_PIXEL: f64 = 0.08;
/// The sizes films come in.
const ROWS: [u32; 7] = [120, 144, 180, 216, 240, 288, 360];

impl Contest {
    /// Sets up `scenario` for these controllers. The flow of that name is watched, or else the first media flow, and
    /// then all media flows take the controller. It sends `clip`, or else the clip its own source names, or the bundled one.
    ///
    /// # Errors
    /// Where there is no such flow or controller, or the clip cannot be read; in words.
    pub fn new(
        mut scenario: Scenario,
        flow: Option<&str>,
        controls: Vec<ControlSpec>,
        clip: Option<&str>,
        seeds: u16,
    ) -> Result<Self, String> {
        // Before the clip is decoded and the first of them runs.
        for control in &controls {
            registry::check(control).map_err(|error| error.to_string())?;
        }
        let index = watched(&scenario, flow)?;
        let FlowKind::Media(media) = &mut scenario.flows[index].kind else {
            return Err("the flow to be watched is no media flow".to_owned());
        };
        let file = film_clip(media, clip);
        let failed = |error: Error| format!("clip {}: {error}", file.as_deref().unwrap_or("that is bundled"));
        let format = SharedClip::open(file.as_deref()).map_err(failed)?.format();
        let films = (controls.len() + 1) as f64;
        let filmed = film_size(format.size, format.frame_rate, scenario.duration, films).map_err(failed)?;
        let name = file.unwrap_or_else(|| seaway_media::clip::ATTRIBUTION.to_owned());
        let video = Video { name, size: format.size, frame_rate: format.frame_rate, filmed };
        let tape = TapeConfig { size: filmed, frame_rate: format.frame_rate, quantiser: QUANTISER };
        Ok(Self { scenario, flow: index, controls, seeds, video, alone: flow.is_some(), tape })
    }

    /// The scenario's name.
    pub fn name(&self) -> &str {
        &self.scenario.name
    }

    /// The file of the clip; `None` where it is the bundled one.
    pub fn clip(&self) -> Option<&str> {
        match &self.scenario.flows[self.flow].kind {
            FlowKind::Media(media) => clip_file(media),
            _ => None,
        }
    }

    /// The controllers.
    pub fn controls(&self) -> &[ControlSpec] {
        &self.controls
    }

    /// How many runs each controller has.
    pub fn seeds(&self) -> u16 {
        self.seeds
    }

    /// The scenario for a controller and the run of that number.
    pub fn scenario(&self, control: &ControlSpec, run: u16) -> Scenario {
        let seed = self.scenario.seed.wrapping_add(u64::from(run));
        let mut scenario = Scenario { seed, ..self.scenario.clone() };
        for (index, flow) in scenario.flows.iter_mut().enumerate() {
            if let FlowKind::Media(media) = &mut flow.kind
                && (index == self.flow || !self.alone)
            {
                media.control = control.clone();
            }
        }
        scenario
    }

    /// What is filmed in a first run.
    pub fn filming(&self) -> RecordingOptions {
        RecordingOptions { flow: self.flow, tape: self.tape }
    }

    /// The name of the watched flow.
    pub fn flow(&self) -> &str {
        &self.scenario.flows[self.flow].name
    }

    /// What the runs come to: for each controller its takes, in order of their seeds.
    ///
    /// # Errors
    /// Where the clip cannot be read again or filmed.
    pub fn finish(&self, takes: Vec<Vec<Take>>) -> Result<Comparison, String> {
        let named = self.controls.iter().map(ToString::to_string).zip(takes);
        Ok(Comparison {
            scenario: self.scenario.name.clone(),
            about: self.scenario.about.clone().unwrap_or_default(),
            duration_s: self.scenario.duration.as_secs_f64(),
            flow: self.flow().to_owned(),
            video: self.video.clone(),
            sent: self.film_what_was_sent().map_err(|error| error.to_string())?,
            contenders: named.map(|(control, takes)| Contender { control, takes }).collect(),
        })
    }

    /// What stood before the camera while the flow was on.
    fn film_what_was_sent(&self) -> Result<Vec<u8>, Error> {
        let flow = &self.scenario.flows[self.flow];
        let FlowKind::Media(media) = &flow.kind else {
            return Err(Error::Unsupported("no media flow".into()));
        };
        let mut clip = SharedClip::open(clip_file(media))?;
        let mut tape = Tape::new(self.tape)?;
        let schedule = crate::schedule::OnOffSchedule::new(flow, self.scenario.seed, self.scenario.duration);
        let (from, to) = schedule.extent();
        let mut index = 0;
        loop {
            let at = from + self.video.frame_rate.time_of(index);
            if at >= to {
                break;
            }
            let mut picture = clip.next_picture()?;
            if picture.is_none() {
                clip.rewind()?;
                picture = clip.next_picture()?;
            }
            if let Some(picture) = picture.filter(|_| schedule.is_on(at)) {
                tape.show(at, &picture)?;
            }
            index += 1;
        }
        tape.finish(Timestamp::ZERO + self.scenario.duration)
    }
}

fn watched(scenario: &Scenario, name: Option<&str>) -> Result<usize, String> {
    let is_media = |index: &usize| matches!(scenario.flows[*index].kind, FlowKind::Media(_));
    let mut media = (0..scenario.flows.len()).filter(is_media);
    let names = || {
        let names = scenario.flows.iter().filter(|flow| matches!(flow.kind, FlowKind::Media(_)));
        names.map(|flow| flow.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    match name {
        None => media.next().ok_or_else(|| "the scenario has no media flow".to_owned()),
        Some(name) => media
            .find(|&index| scenario.flows[index].name == name)
            .ok_or_else(|| format!("no media flow is called {name}; there are: {}", names())),
    }
}

/// Makes the flow send a clip and tells its file.
fn film_clip(media: &mut MediaFlow, clip: Option<&str>) -> Option<String> {
    let encoder = match media.source {
        Source::Clip { encoder, .. } => encoder,
        _ => Encoder::default(),
    };
    let file = clip.or(clip_file(media)).map(str::to_owned);
    media.source = Source::Clip { file: file.clone(), encoder };
    file
}

fn clip_file(media: &MediaFlow) -> Option<&str> {
    match &media.source {
        Source::Clip { file, .. } => file.as_deref(),
        _ => None,
    }
}

/// The largest size whose films keep within [`FILMS`].
fn film_size(
    clip: PictureSize,
    rate: FrameRate,
    duration: TimeDelta,
    films: f64,
) -> Result<PictureSize, Error> {
    let pictures = films * duration.as_secs_f64() * rate.hz();
    let pixels = FILMS * 8.0 / BITS_PER_PIXEL / pictures.max(1.0);
    let shape = f64::from(clip.width()) / f64::from(clip.height());
    let fits = |rows: &u32| *rows <= clip.height() && f64::from(*rows) * f64::from(*rows) * shape <= pixels;
    let rows = ROWS.into_iter().rfind(fits).unwrap_or(ROWS[0].min(clip.height()));
    let width = (f64::from(rows) * shape / 2.0).round() as u32 * 2;
    PictureSize::new(width.max(16), rows)
}
