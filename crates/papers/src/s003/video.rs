//! What is seen of a clip whose groups of pictures come over several connections.

use crate::runner::Failure;
use seaway_lab::{ClipLadder, Outcome};
use seaway_units::Bitrate;

/// Frames of the clip, and of a group of its pictures.
pub(super) const FRAMES: usize = 1000;
const GROUP: usize = 30;
/// When the video begins, s.
pub(super) const START: f64 = 20.0;
/// The rate at which the substitute's pictures are coded.
const CODED_KBPS: u64 = 900;

/// Which frames of the clip could be shown.
pub(super) fn shown(outcome: &Outcome, connections: usize, fps: f64) -> Vec<bool> {
    let mut shown = vec![false; FRAMES];
    for connection in 0..connections {
        let name = if connections == 1 { "video".to_owned() } else { format!("video#{}", connection + 1) };
        let frames = outcome.shown.iter().find(|(flow, _)| *flow == name);
        for frame in frames.into_iter().flat_map(|(_, frames)| frames) {
            let played = ((frame.captured.as_secs_f64() - START) * fps).round() as usize;
            let group = played / GROUP * connections + connection;
            if let Some(frame) = shown.get_mut(group * GROUP + played % GROUP) {
                *frame = true;
            }
        }
    }
    shown
}

/// Key frames that could not be shown.
pub(super) fn lost_keys(shown: &[bool]) -> usize {
    shown.iter().step_by(GROUP).filter(|shown| !**shown).count()
}

/// Mean PSNR of all frames of the reassembled clip, dB: what is missing is replaced by what stood there before.
pub(super) fn psnr(shown: &[bool]) -> Result<f64, Failure> {
    let clip = ClipLadder::bundled().map_err(Failure::Scenario)?;
    let rate = Bitrate::from_kbps(CODED_KBPS);
    let mut last = None;
    let mut levels = Vec::with_capacity(shown.len());
    for (frame, &is_shown) in shown.iter().enumerate() {
        if is_shown {
            last = Some(frame);
        }
        // Before the first frame the screen is black: about the noise of the picture itself.
        let level = last.map_or(BLACK, |last| clip.psnr_after(last as u64, rate, (frame - last) as u64));
        levels.push(level);
    }
    Ok(crate::trace::mean(&levels))
}

/// PSNR of a black screen against a picture, dB.
const BLACK: f64 = 8.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_freezes() {
        let all = vec![true; FRAMES];
        let best = psnr(&all).unwrap();
        assert!((34.0..38.0).contains(&best), "{best}");
        let mut half = all.clone();
        half.iter_mut().skip(1).step_by(2).for_each(|shown| *shown = false);
        let mut tail = all;
        tail.iter_mut().skip(GROUP).for_each(|shown| *shown = false);
        assert!(psnr(&half).unwrap() < best && psnr(&tail).unwrap() < psnr(&half).unwrap() - 5.0);
        assert_eq!(lost_keys(&tail), 33);
    }
}
