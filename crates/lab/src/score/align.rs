//! Pairs each picture of the reference with the received picture on screen at its presentation time.

use super::{Align, ScoreError};
use seaway_media::{Error, Picture, PictureSize, Scaler};
use seaway_quality::Plane;
use seaway_quality::psnr::mean_squared_error;
use seaway_units::TimeDelta;
use std::collections::VecDeque;

/// The fate of a picture of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// It was shown.
    Displayed,
    /// The same picture was shown again in its place, though the reference moves.
    Repeated,
    /// No picture came in its place; the one before it stayed.
    Missing,
    /// No picture had been shown by then.
    NotBegun,
}

/// A picture of the reference and the one on screen in its place.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) index: u64,
    pub(super) reference: Picture,
    /// `None` before the first picture.
    pub(super) shown: Option<Picture>,
    pub(super) fate: Fate,
    /// How much later than the reference it was shown, on the two files' own clocks.
    pub(super) delay: Option<TimeDelta>,
}

/// Pictures in order.
pub(super) trait Pictures {
    fn next(&mut self) -> Result<Option<Picture>, Error>;
}

impl<F: FnMut() -> Result<Option<Picture>, Error>> Pictures for F {
    fn next(&mut self) -> Result<Option<Picture>, Error> {
        self()
    }
}

/// Pairs the two sequences with a bounded number of pictures in memory.
pub(super) struct Aligner<R, S> {
    rule: Rule,
    reference: R,
    received: S,
    /// Pictures of the reference that were read ahead.
    ahead: VecDeque<Picture>,
    next_received: Option<Picture>,
    shown: Option<Picture>,
    before: Option<Picture>,
    index: u64,
    /// Received pictures that were never displayed, since more came than the reference has.
    pub(super) unused: u64,
    pub(super) received_pictures: u64,
    scaling: Option<Scaling>,
    ready: VecDeque<Pair>,
}

/// How pictures are paired.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Rule {
    /// The newest received picture that is due, within half an interval; received times are this much earlier.
    Time { half: TimeDelta, late: TimeDelta },
    /// Picture by picture.
    Index,
    /// The most similar of the next pictures; `has_times` where received times are meaningful.
    Content { has_times: bool },
}

/// Received pictures may be of another size.
#[derive(Debug)]
struct Scaling {
    to: PictureSize,
    scaler: Option<Scaler>,
}

/// Pictures of the reference that are compared with a received one: two seconds at 30 pictures/s.
const AHEAD: usize = 60;
/// A later picture must have an error this much smaller to be the one received; a smaller difference may be chance.
const CLEARLY: f64 = 0.8;
/// The same for the first picture, where a mistake would shift all that follow.
const CLEARLY_LATER: f64 = 0.5;

impl<R: Pictures, S: Pictures> Aligner<R, S> {
    /// Aligns by `align`, which is not [`Align::Auto`] any more; `interval` is that of the reference. With `scale`
    /// received pictures are brought to that size.
    pub(super) fn new(
        align: Align,
        interval: TimeDelta,
        has_times: bool,
        scale: Option<PictureSize>,
        reference: R,
        received: S,
    ) -> Self {
        let rule = match align {
            Align::Content => Rule::Content { has_times },
            Align::Index => Rule::Index,
            Align::Time | Align::Auto => Rule::Time { half: interval / 2, late: TimeDelta::ZERO },
        };
        Self {
            rule,
            reference,
            received,
            ahead: VecDeque::new(),
            next_received: None,
            shown: None,
            before: None,
            index: 0,
            unused: 0,
            received_pictures: 0,
            scaling: scale.map(|to| Scaling { to, scaler: None }),
            ready: VecDeque::new(),
        }
    }

    /// Compares the first pictures: the received sequence may begin with a later one of the reference.
    pub(super) fn begin(&mut self) -> Result<(), ScoreError> {
        self.next_received = self.take_received()?;
        let Rule::Time { late, .. } = &mut self.rule else { return Ok(()) };
        let Some(first) = &self.next_received else { return Ok(()) };
        read_ahead(&mut self.ahead, &mut self.reference, AHEAD)?;
        if let Some(place) = most_alike(&self.ahead, first, 0, CLEARLY_LATER)? {
            *late = self.ahead[place].time() - self.ahead[0].time();
        }
        Ok(())
    }

    /// The next picture of the reference and the one on screen in its place.
    pub(super) fn next(&mut self) -> Result<Option<Pair>, ScoreError> {
        match self.rule {
            Rule::Time { half, late } => {
                self.next_by(|reference, received| (received.time() + late <= reference.time() + half, false))
            }
            Rule::Index => self.next_by(|_, _| (true, true)),
            Rule::Content { has_times } => self.next_by_content(has_times),
        }
    }

    /// `is_due` returns whether a received picture is displayed in place of this one of the reference, and whether a
    /// later one cannot be.
    fn next_by(
        &mut self,
        is_due: impl Fn(&Picture, &Picture) -> (bool, bool),
    ) -> Result<Option<Pair>, ScoreError> {
        let Some(reference) = self.take_reference()? else {
            self.count_rest()?;
            return Ok(None);
        };
        let mut fresh: Option<Picture> = None;
        while let Some(received) = &self.next_received {
            let (due, is_only) = is_due(&reference, received);
            if !due {
                break;
            }
            self.unused += u64::from(fresh.is_some());
            fresh = self.next_received.take();
            self.next_received = self.take_received()?;
            if is_only {
                break;
            }
        }
        Ok(Some(self.pair(reference, fresh, None)))
    }

    fn next_by_content(&mut self, has_times: bool) -> Result<Option<Pair>, ScoreError> {
        while self.ready.is_empty() {
            read_ahead(&mut self.ahead, &mut self.reference, AHEAD)?;
            if self.ahead.is_empty() {
                self.count_rest()?;
                return Ok(None);
            }
            let Some(received) = self.next_received.take() else {
                let reference = self.take_reference()?;
                return Ok(reference.map(|reference| self.pair(reference, None, None)));
            };
            self.next_received = self.take_received()?;
            self.place(received, has_times)?;
        }
        Ok(self.ready.pop_front())
    }

    /// Finds the place of a received picture among the next of the reference.
    fn place(&mut self, received: Picture, has_times: bool) -> Result<(), ScoreError> {
        // It may repeat the picture that is on screen.
        if let (Some(before), Some(next)) = (&self.before, self.ahead.front())
            && difference(before, &received)? < CLEARLY * difference(next, &received)?
        {
            self.unused += 1;
            return Ok(());
        }
        let place = most_alike(&self.ahead, &received, 0, CLEARLY)?.unwrap_or(0);
        for _ in 0..place {
            if let Some(passed) = self.take_reference()? {
                let pair = self.pair(passed, None, None);
                self.ready.push_back(pair);
            }
        }
        if let Some(reference) = self.take_reference()? {
            let delay = has_times.then(|| received.time() - reference.time());
            let pair = self.pair(reference, Some(received), delay);
            self.ready.push_back(pair);
        }
        Ok(())
    }

    fn pair(&mut self, reference: Picture, fresh: Option<Picture>, delay: Option<TimeDelta>) -> Pair {
        let fate = match (&fresh, &self.shown) {
            (None, None) => Fate::NotBegun,
            (None, Some(_)) => Fate::Missing,
            (Some(fresh), Some(shown)) if is_same(fresh, shown) => {
                let stands = self.before.as_ref().is_some_and(|before| is_same(before, &reference));
                if stands { Fate::Displayed } else { Fate::Repeated }
            }
            (Some(_), _) => Fate::Displayed,
        };
        if fresh.is_some() {
            self.shown = fresh;
        }
        self.before = Some(reference.clone());
        let index = self.index;
        self.index += 1;
        Pair { index, reference, shown: self.shown.clone(), fate, delay }
    }

    fn take_reference(&mut self) -> Result<Option<Picture>, ScoreError> {
        match self.ahead.pop_front() {
            Some(picture) => Ok(Some(picture)),
            None => self.reference.next().map_err(ScoreError::Reference),
        }
    }

    fn take_received(&mut self) -> Result<Option<Picture>, ScoreError> {
        let picture = self.received.next().map_err(ScoreError::Received)?;
        self.received_pictures += u64::from(picture.is_some());
        Ok(picture.map(|picture| match &mut self.scaling {
            Some(scaling) => scaling.apply(&picture),
            None => picture,
        }))
    }

    /// Pictures received after the end of the reference are never displayed.
    fn count_rest(&mut self) -> Result<(), ScoreError> {
        while self.next_received.take().is_some() {
            self.unused += 1;
            self.next_received = self.take_received()?;
        }
        Ok(())
    }
}

impl Scaling {
    fn apply(&mut self, picture: &Picture) -> Picture {
        if picture.size() == self.to {
            return picture.clone();
        }
        let fits = |scaler: &Scaler| scaler.from() == picture.size();
        let mut scaler =
            self.scaler.take().filter(fits).unwrap_or_else(|| Scaler::new(picture.size(), self.to));
        let scaled = scaler.scale(picture);
        self.scaler = Some(scaler);
        scaled
    }
}

fn read_ahead(
    ahead: &mut VecDeque<Picture>,
    reference: &mut impl Pictures,
    count: usize,
) -> Result<(), ScoreError> {
    while ahead.len() < count {
        match reference.next().map_err(ScoreError::Reference)? {
            Some(picture) => ahead.push_back(picture),
            None => break,
        }
    }
    Ok(())
}

/// The place of the picture most similar to `received`, where its error is clearly smaller than at `usual`.
fn most_alike(
    pictures: &VecDeque<Picture>,
    received: &Picture,
    usual: usize,
    clearly: f64,
) -> Result<Option<usize>, ScoreError> {
    let Some(expected) = pictures.get(usual) else { return Ok(None) };
    let bound = clearly * difference(expected, received)?;
    let mut best = (bound, None);
    for (place, picture) in pictures.iter().enumerate() {
        let found = difference(picture, received)?;
        if found < best.0 {
            best = (found, Some(place));
        }
    }
    Ok(best.1)
}

/// Mean squared error over every fourth row.
fn difference(a: &Picture, b: &Picture) -> Result<f64, ScoreError> {
    const ROWS: usize = 4;
    fn thinned(picture: &Picture) -> Plane<'_> {
        let luma = picture.luma();
        Plane::new(luma.data, luma.stride * ROWS, luma.width, luma.height / ROWS)
    }
    mean_squared_error(&thinned(a), &thinned(b)).map_err(|_| sizes(a, b))
}

fn is_same(a: &Picture, b: &Picture) -> bool {
    a.size() == b.size() && a.luma().data == b.luma().data
}

pub(super) fn sizes(reference: &Picture, received: &Picture) -> ScoreError {
    ScoreError::Sizes { reference: reference.size(), received: received.size() }
}
