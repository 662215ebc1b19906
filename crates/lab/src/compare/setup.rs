//! The scenarios of a comparison, which differ in the controller only.

use super::{Candidate, Comparison, Run};
use crate::options::RecordingOptions;
use crate::scenario::{Encoder, FlowKind, MediaFlow, Scenario, SourceConfig};
use seaway_control::ControlSpec;
use seaway_media::input::PictureSource;
use seaway_media::{Error, FrameRate, PictureSize};
use seaway_stream::sink::{ScreenRecorder, ScreenRecorderConfig};
use seaway_stream::source::DecodedClip;
use seaway_units::{TimeDelta, Timestamp};

/// The runs that a comparison needs.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Its recorded flow sends a clip.
    scenario: Scenario,
    /// The index of the recorded flow.
    flow: usize,
    controls: Vec<ControlSpec>,
    seeds: u16,
    video: Video,
    /// Only the recorded flow has the controller; otherwise all media flows do.
    is_alone: bool,
    recorder: ScreenRecorderConfig,
}

/// The video that is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Video {
    /// Its file, or the name of the bundled clip.
    pub name: String,
    /// Its own size.
    pub size: PictureSize,
    /// Pictures a second.
    pub frame_rate: FrameRate,
    /// The size of the recordings.
    pub recorded: PictureSize,
}

/// Bytes of all recordings of a page together, about.
const BUDGET: f64 = 3.0e6;
/// The quantiser of the recordings: coarse enough for their size, fine enough to show the faults of the network alone.
const QUANTISER: u8 = 30;
/// Bits a pixel at that quantiser: the bundled clip takes 0.07 at 240 rows.
const BITS_PER_PIXEL: f64 = 0.08;
/// The heights of recordings.
const ROWS: [u32; 7] = [120, 144, 180, 216, 240, 288, 360];

impl Setup {
    /// Sets up `scenario` for these controllers. The flow of that name is recorded and has the controller.
    /// Without a name the first media flow is recorded and all media flows have the controller. The recorded flow sends
    /// `clip`, else the clip of its own source, else the bundled one.
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
        let index = recorded_flow(&scenario, flow)?;
        let FlowKind::Media(media) = &mut scenario.flows[index].kind else {
            return Err("the flow to record is no media flow".to_owned());
        };
        for control in &controls {
            media.registry.check(control).map_err(|error| error.to_string())?;
        }
        let file = send_clip(media, clip);
        let failed = |error: Error| format!("clip {}: {error}", file.as_deref().unwrap_or("that is bundled"));
        let format = DecodedClip::open(file.as_deref()).map_err(failed)?.format();
        let recordings = (controls.len() + 1) as f64;
        let recorded =
            recorded_size(format.size, format.frame_rate, scenario.duration, recordings).map_err(failed)?;
        let name = file.unwrap_or_else(|| seaway_media::clip::ATTRIBUTION.to_owned());
        let video = Video { name, size: format.size, frame_rate: format.frame_rate, recorded };
        let recorder =
            ScreenRecorderConfig { size: recorded, frame_rate: format.frame_rate, quantiser: QUANTISER };
        Ok(Self { scenario, flow: index, controls, seeds, video, is_alone: flow.is_some(), recorder })
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
                && (index == self.flow || !self.is_alone)
            {
                media.control = control.clone();
            }
        }
        scenario
    }

    /// What the first run of a controller records.
    pub fn recording(&self) -> RecordingOptions {
        RecordingOptions { flow: self.flow, recorder: self.recorder }
    }

    /// The name of the recorded flow.
    pub fn flow(&self) -> &str {
        &self.scenario.flows[self.flow].name
    }

    /// The comparison of these runs: for each controller one for each seed, in their order.
    ///
    /// # Errors
    /// Where the clip cannot be read again or coded.
    pub fn finish(&self, runs: Vec<Vec<Run>>) -> Result<Comparison, String> {
        let named = self.controls.iter().map(ToString::to_string).zip(runs);
        Ok(Comparison {
            scenario: self.scenario.name.clone(),
            about: self.scenario.about.clone().unwrap_or_default(),
            duration_s: self.scenario.duration.as_secs_f64(),
            flow: self.flow().to_owned(),
            video: self.video.clone(),
            sent: self.record_source().map_err(|error| error.to_string())?,
            candidates: named.map(|(control, runs)| Candidate { control, runs }).collect(),
        })
    }

    /// Codes the source video while the flow is on, like the recordings (MP4).
    fn record_source(&self) -> Result<Vec<u8>, Error> {
        let flow = &self.scenario.flows[self.flow];
        let FlowKind::Media(media) = &flow.kind else {
            return Err(Error::Unsupported("no media flow".into()));
        };
        let mut clip = DecodedClip::open(clip_file(media))?;
        let mut recorder = ScreenRecorder::new(self.recorder)?;
        let schedule = flow.schedule(self.scenario.seed, self.scenario.duration);
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
                recorder.show(at, &picture)?;
            }
            index += 1;
        }
        recorder.finish(Timestamp::ZERO + self.scenario.duration)
    }
}

fn recorded_flow(scenario: &Scenario, name: Option<&str>) -> Result<usize, String> {
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

/// Makes the flow send a clip. Returns its file.
fn send_clip(media: &mut MediaFlow, clip: Option<&str>) -> Option<String> {
    let encoder = match media.source {
        SourceConfig::Clip { encoder, .. } => encoder,
        _ => Encoder::default(),
    };
    let file = clip.or(clip_file(media)).map(str::to_owned);
    media.source = SourceConfig::Clip { file: file.clone(), encoder };
    file
}

fn clip_file(media: &MediaFlow) -> Option<&str> {
    match &media.source {
        SourceConfig::Clip { file, .. } => file.as_deref(),
        _ => None,
    }
}

/// The largest size at which so many recordings stay within [`BUDGET`].
fn recorded_size(
    clip: PictureSize,
    rate: FrameRate,
    duration: TimeDelta,
    recordings: f64,
) -> Result<PictureSize, Error> {
    let pictures = recordings * duration.as_secs_f64() * rate.hz();
    let pixels = BUDGET * 8.0 / BITS_PER_PIXEL / pictures.max(1.0);
    let shape = f64::from(clip.width()) / f64::from(clip.height());
    let fits = |rows: &u32| *rows <= clip.height() && f64::from(*rows) * f64::from(*rows) * shape <= pixels;
    let rows = ROWS.into_iter().rfind(fits).unwrap_or(ROWS[0].min(clip.height()));
    let width = (f64::from(rows) * shape / 2.0).round() as u32 * 2;
    PictureSize::new(width.max(16), rows)
}
