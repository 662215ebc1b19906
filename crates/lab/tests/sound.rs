//! Sound beside the pictures of a flow.

use seaway_lab::scenario::{Scenario, Text};
use seaway_lab::{RunOptions, run};
use seaway_report::summary::FlowSummary;
use std::ops::ControlFlow;

fn parse(link: &str, keys: &str) -> Result<Scenario, String> {
    let text = format!(
        r#"
schema = 1
name = "sound"
duration = "60 s"
warmup = "10 s"
[[link]]
name = "link"
from = "a"
to = "b"
both = true
delay = "20 ms"
queue = {{ kind = "drop-tail", time = "200 ms" }}
{link}
[[flow]]
name = "video"
kind = "media"
control = "seaway"
from = "a"
to = "b"
source = {{ kind = "frames", model = "periodic", fps = 25 }}
{keys}
"#
    );
    let read = |_: &str| Err("there is none".to_owned());
    Scenario::parse(Text { file: "t", text: &text, read: &read }, &[]).map_err(|error| error.to_string())
}

fn simulate(link: &str, keys: &str) -> FlowSummary {
    let scenario = parse(link, keys).unwrap();
    let outcome = run(&scenario, RunOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
    outcome.summary.flows[0].clone()
}

const AUDIO: &str = "stream = [{ kind = \"audio\" }]";

#[test]
fn sound_is_whole_and_in_step_where_the_link_is_free() {
    let flow = simulate("rate = \"4 Mbit/s\"", AUDIO);
    let sound = flow.sound.unwrap();
    // 50 s of frames of 20 ms.
    assert!((2499..=2501).contains(&sound.sent) && sound.dropped == 0, "{sound:?}");
    assert!(sound.delivered.is_some_and(|share| share > 0.999), "{sound:?}");
    // 20 ms of the link after 20 ms of the frame itself.
    let (delay, offset) = (sound.delay_ms.unwrap(), sound.offset_ms.unwrap());
    assert!(delay.p50 > 40.0 && delay.p95 < 150.0, "{delay:?}");
    assert!(offset.p95 <= 40.0, "{offset:?}");
    assert!(flow.frames.unwrap().displayed > 1200);
    assert!(simulate("rate = \"4 Mbit/s\"", "").sound.is_none());
}

/// The least rate is above that of the link: pictures are left out and lost, sound is not.
#[test]
fn sound_leaves_before_pictures_where_the_rate_is_scarce() {
    let keys = format!("{AUDIO}\nrate = {{ min = \"200 kbit/s\", max = \"4 Mbit/s\" }}");
    let flow = simulate("rate = \"150 kbit/s\"", &keys);
    let (sound, frames) = (flow.sound.unwrap(), flow.frames.unwrap());
    assert!(frames.displayed * 10 < frames.captured * 8, "{frames:?}");
    assert!(sound.delivered.is_some_and(|share| share > 0.99) && sound.dropped == 0, "{sound:?}");
}

#[test]
fn lost_sound_is_sent_again() {
    let link = "rate = \"4 Mbit/s\"\nloss = { kind = \"independent\", rate = 0.05 }";
    let without = simulate(link, AUDIO).sound.unwrap();
    assert!(without.delivered.is_some_and(|share| (0.93..0.97).contains(&share)), "{without:?}");
    let keys = format!("{AUDIO}\nrepair = {{ retransmit = true, deadline = \"300 ms\" }}");
    let with = simulate(link, &keys).sound.unwrap();
    assert!(with.delivered.is_some_and(|share| share > 0.998), "{with:?}");
    assert!(with.offset_ms.unwrap().p95 <= 40.0, "{with:?}");
}

#[test]
fn what_is_no_sound_is_refused() {
    let refused = |keys: &str| parse("rate = \"4 Mbit/s\"", keys).unwrap_err();
    assert!(refused("stream = [{ kind = \"audio\" }, { kind = \"audio\" }]").contains("one at most"));
    assert!(refused("stream = [{ kind = \"video\" }]").contains("audio"));
    assert!(refused("stream = [{ kind = \"audio\", frame = \"1 s\" }]").contains("120 ms"));
    assert!(refused("stream = [{ kind = \"audio\", rate = \"1 Mbit/s\" }]").contains("510 kbit/s"));
}
