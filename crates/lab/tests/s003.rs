//! `docs/models/wimax.md`, section "Acceptance", rule 7: the trends of S003's tables over the WiMAX uplink.

use seaway_lab::scenario::Override;
use seaway_lab::{Outcome, RunOptions, library, sweep};
use std::ops::ControlFlow;

/// What S003 prints of a run, over the video's connections together.
#[derive(Debug)]
struct Row {
    /// From 20 s to the last packet that arrived.
    period: f64,
    /// Mean over the period.
    kbps: f64,
    /// Waiting before the air in ms, mean per packet and largest.
    wait: f64,
    longest: f64,
    /// Packets.
    drops: u64,
    /// Frames that cannot be shown: the paper's PSNR needs its clip.
    lost: u64,
}

/// What an endpoint says of itself now and then is below this, in bit/s; a frame is above.
const ANNOUNCEMENTS: f64 = 24e3;

fn rows(fps: u32) -> Vec<Row> {
    let scenario = |connections: u32| {
        let changes = [format!("flow.video.count={connections}"), format!("flow.video.source.fps={fps}")];
        let changes: Vec<Override> = changes.iter().map(|change| change.parse().unwrap()).collect();
        library::find("s003").unwrap().parse(&changes).unwrap()
    };
    let scenarios: Vec<_> = (1..=4).map(scenario).collect();
    let options = RunOptions { series: true, ..RunOptions::default() };
    let outcomes = sweep(&scenarios, options, &|_| ControlFlow::Continue(())).unwrap();
    outcomes.iter().map(row).collect()
}

fn row(outcome: &Outcome) -> Row {
    let videos = || outcome.summary.flows.iter().filter(|flow| flow.name.starts_with("video"));
    let received: Vec<_> = outcome
        .series
        .readings()
        .filter(|reading| reading.flow.starts_with("video") && reading.name == "received_rate")
        .collect();
    let media = received.iter().filter(|reading| reading.value > ANNOUNCEMENTS);
    let last = media.map(|reading| reading.at).max().unwrap();
    let period = last.as_secs_f64() - 20.0;
    let bits: f64 =
        received.iter().filter(|reading| reading.at <= last).map(|reading| reading.value * 0.1).sum();
    let packets: f64 = videos().map(|flow| flow.packets.received as f64).sum();
    let waits = || videos().map(|flow| (flow.queue_delay_ms.unwrap(), flow.packets.received as f64));
    Row {
        period,
        kbps: bits / period / 1e3,
        wait: waits().map(|(wait, count)| wait.mean * count).sum::<f64>() / packets,
        longest: waits().map(|(wait, _)| wait.max).fold(0.0, f64::max),
        drops: videos().map(|flow| flow.packets.lost_queue).sum(),
        lost: videos().filter_map(|flow| flow.frames).map(|frames| frames.lost).sum(),
    }
}

/// `bound` holds between each row and the next.
fn pairwise(rows: &[Row], what: &str, bound: impl Fn(&Row, &Row) -> bool) {
    assert!(rows.windows(2).all(|pair| bound(&pair[0], &pair[1])), "{what}: {rows:#.1?}");
}

#[test]
fn section_12_7_trends() {
    let (slow, fast) = (rows(15), rows(30));
    // 15 Hz: more connections, a shorter period, a higher rate, longer waits.
    pairwise(&slow, "period", |less, more| more.period < less.period);
    // Table III's ratios within 10 %. The independent model of `docs/models/wimax.md` has 3.6 to 3.8 for four, ours 3.5:
    // more is dropped.
    for (row, paper) in slow.iter().zip([1.0, 1.97, 2.93, 3.78]) {
        let ratio = row.kbps / slow[0].kbps;
        assert!((ratio / paper - 1.0).abs() < 0.1, "{ratio} of {slow:#.1?}");
    }
    pairwise(&slow, "waits", |less, more| more.wait > less.wait && more.longest > less.longest);
    assert_eq!(slow[0].drops, 0);
    // 30 Hz: full from two connections on.
    let full = &fast[1..];
    assert!(full.iter().all(|row| row.period < 0.6 * fast[0].period), "{fast:#.1?}");
    let mean = full.iter().map(|row| row.kbps).sum::<f64>() / 3.0;
    assert!(full.iter().all(|row| (row.kbps / mean - 1.0).abs() < 0.05), "{fast:#.1?}");
    assert!(fast[0].wait < 0.5 * fast[1].wait && fast[0].longest < fast[1].longest, "{fast:#.1?}");
    assert!(full.iter().all(|row| (row.wait / fast[1].wait - 1.0).abs() < 0.2), "{fast:#.1?}");
    pairwise(&fast, "drops", |less, more| more.drops > less.drops);
    assert!(full.iter().all(|row| row.lost > 100) && fast[0].lost == 0, "{fast:#.1?}");
    // Within 15 % of the paper's table III, and of its largest delay: behind the wait come a frame and a subframe.
    let printed = [[70.47, 35.47, 23.47, 17.94], [32.97, 18.97, 18.47, 17.97]];
    for (rows, printed) in [&slow, &fast].into_iter().zip(printed) {
        assert!(rows.iter().zip(printed).all(|(row, paper)| (row.period / paper - 1.0).abs() < 0.15));
        assert!(rows.iter().all(|row| row.longest + 8.7 <= 214.0), "{rows:#.1?}");
    }
}
