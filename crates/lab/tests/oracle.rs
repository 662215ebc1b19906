//! `docs/models/loss-discrimination.md`, sections "Explicit loss notification" and "Acceptance", rule 5: controllers
//! with explicit loss notification.

use seaway_lab::scenario::{Override, Scenario, Text};
use seaway_lab::{RunOptions, run};
use seaway_report::summary::Summary;
use std::ops::ControlFlow;

const LINK: &str = r#"
schema = 1
name = "oracle"
duration = "220 s"
warmup = "20 s"

[[link]]
name = "wireless"
from = "server"
to = "client"
both = true
rate = "1 Mbit/s"
delay = "50 ms"
queue = { kind = "drop-tail", time = "200 ms" }
loss = { kind = "independent", rate = 0.04 }

[[flow]]
name = "video"
kind = "media"
control = "tfrc"
from = "server"
to = "client"
packet = "1000 B"
rate = { min = "10 kbit/s", max = "10 Mbit/s" }
source = { kind = "saturated" }
"#;

const TCP: &str = r#"
[[flow]]
name = "tcp"
kind = "tcp"
from = "server"
to = "client"
packet = "1000 B"
"#;

fn summary(text: &str, set: &[&str]) -> Summary {
    let set: Vec<Override> = set.iter().map(|set| set.parse().expect("key=value")).collect();
    let scenario = Scenario::parse(Text::alone("oracle.toml", text), &set).expect("a valid scenario");
    run(&scenario, RunOptions::default(), &mut |_| ControlFlow::Continue(()))
        .expect("it can be built")
        .summary
}

#[test]
fn controllers_with_an_oracle_fill_a_lossy_link() {
    let used = |control: &str| {
        let summary = summary(LINK, &[&format!("flow.video.control={control}")]);
        (summary.flows[0].received_bps.unwrap() / 0.96e6, summary.links[0].drops.queue)
    };
    assert!(used("tfrc").0 < 0.5);
    for control in ["tfrc", "multfrc", "ctfrc", "tfrc(profile=rfc3448, count=2)"] {
        let with_oracle = match control.strip_suffix(')') {
            Some(options) => format!("{options}, discriminate=oracle)"),
            None => format!("{control}(discriminate=oracle)"),
        };
        let (used, refused) = used(&with_oracle);
        assert!((0.95..1.005).contains(&used), "{with_oracle}: {used}");
        assert!(refused < 500, "{with_oracle}: {refused} of some 25 000 refused");
    }
}

/// Losses of the queue count as ever: on a clean link it leaves a TCP its part, as plain TFRC does.
#[test]
fn controllers_with_an_oracle_still_yield_to_congestion() {
    let shared = format!("{LINK}{TCP}");
    let clean = "link.wireless.loss={ kind = \"independent\", rate = 0.0 }";
    let share = |control: &str| {
        let summary = summary(&shared, &[clean, &format!("flow.video.control={control}")]);
        summary.flows[1].received_bps.unwrap() / 1e6
    };
    let (plain, with_oracle) = (share("tfrc"), share("tfrc(discriminate=oracle)"));
    assert!(
        (with_oracle - plain).abs() < 1e-9 && plain > 0.15,
        "TCP has {plain} beside plain, {with_oracle} beside the oracle"
    );
}
