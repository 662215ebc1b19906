use super::*;
use seaway_units::{Bitrate, DataSize};

const GOOD: &str = r#"schema = 1
name = "rough-last-hop"
duration = "120 s"
warmup = "20 s"

[[link]]
name = "access"
from = "server"
to = "router"
both = true
rate = "100 Mbit/s"
delay = "5 ms"
queue = { kind = "drop-tail", packets = 100 }

[[link]]
name = "bottleneck"
from = "router"
to = "client"
both = true
rate = "10 Mbit/s"
steps = [["40 s", "2.5 Mbit/s"], ["60 s", "10 Mbit/s"]]
delay = "42 ms"
queue = { kind = "drop-tail", time = "100 ms" }
loss = { kind = "gilbert-elliott", mean = 0.02, burst = 4 }
outage = [["70 s", "80 s"]]
reverse = { loss = { kind = "independent", rate = 0.01 } }

[[flow]]
name = "video"
kind = "media"
control = "fixed(rate=1 Mbit/s)"
from = "server"
to = "client"
start = { uniform = ["0 s", "5 s"] }
stop = "110 s"
pause = [["40 s", "60 s"]]
rate = { min = "150 kbit/s", start = "300 kbit/s", max = "4 Mbit/s" }
source = { kind = "frames", fps = 25 }
count = 2

[[flow]]
kind = "tcp"
from = "server"
to = "client"
size = "50 kB"

[[expect]]
of = "flow.video#2.received_bps"
min = "0.9 Mbit/s"
max = "1.1 Mbit/s"
"#;

fn parse(text: &str, overrides: &[&str]) -> Result<Scenario, String> {
    let overrides: Vec<Override> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    Scenario::parse(Text::alone("test.toml", text), &overrides).map_err(|error| error.to_string())
}

#[test]
fn the_whole_format() {
    let scenario = parse(GOOD, &[]).unwrap();
    assert_eq!(scenario.nodes(), ["server", "router", "client"]);
    assert_eq!(scenario.seed, 1);
    let names: Vec<_> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["video#1", "video#2", "tcp"]);
    let video = &scenario.flows[1];
    assert_eq!(video.start, Start::Uniform(TimeDelta::ZERO, TimeDelta::from_secs(5)));
    let FlowKind::Media(media) = &video.kind else { panic!("not a media flow") };
    assert_eq!(media.rate.unwrap().max, Bitrate::from_mbps(4));
    let FlowKind::Tcp(tcp) = &scenario.flows[2].kind else { panic!("not a tcp flow") };
    assert_eq!(tcp.size, Some(TransferSize::Fixed(DataSize::from_bytes(50_000))));
    let back = &scenario.links[1].backward.as_ref().unwrap().config;
    assert!(back.steps.is_empty() && back.loss.is_some() && back.rate == Some(Bitrate::from_mbps(10)));
}

/// Each change of a good scenario, and where and how it is refused.
#[test]
fn mistakes_are_named_with_their_place() {
    let mut wrong = Vec::new();
    for (found, changed, expected) in [
        ("schema = 1", "schema = 2", "test.toml:1:10: `schema` is 2: expected 1"),
        ("schema = 1\n", "", "test.toml: the key `schema` is missing"),
        ("warmup =", "warmpu =", "test.toml:4:1: unknown key `warmpu`; did you mean warmup?"),
        ("\"20 s\"", "\"200 s\"", "test.toml:4:10: `warmup` is 200 s: expected at least 0 s and less than"),
        (
            "\"120 s\"",
            "120",
            "test.toml:3:12: invalid type: integer `120`, expected a time such as \"40 ms\"",
        ),
        ("\"120 s\"", "\"120\"", "test.toml:3:12: \"120\" has no unit: expected a time"),
        ("delay = \"5 ms\"", "dealy = \"5 ms\"", "test.toml:12:1: unknown key `dealy`; did you mean delay?"),
        ("both = true", "booth = true", "test.toml:10:1: unknown key `booth`; did you mean both?"),
        ("packets = 100", "packets = 0", "test.toml:13:41: queue.packets: found 0, expected at least 1"),
        ("rate = 0.01", "rate = 1.5", "test.toml:26:"),
        ("mean = 0.02", "mean = 2", "test.toml:24:"),
        ("to = \"client\"\nboth = true", "to = \"client\"", "test.toml:25:11: `reverse` applies only where"),
        (
            "to = \"client\"\nstart",
            "to = \"cleint\"\nstart",
            "no link or cell has a node `cleint`; did you mean client?",
        ),
        ("name = \"bottleneck\"", "name = \"access\"", "test.toml:16:8: there are two links named `access`"),
        ("name = \"bottleneck\"", "name = \"a b\"", "test.toml:16:8: `name`: expected a name without blanks"),
        (
            "fixed(rate=1 Mbit/s)",
            "fixt",
            "test.toml:31:11: \"fixt\": no such controller; did you mean fixed?",
        ),
        ("\"media\"", "\"medai\"", "test.toml:30:8: unknown kind of flow `medai`; did you mean media?"),
        (
            "kind = \"tcp\"",
            "kind = \"tcp\"\ncontrol = \"fixed\"",
            "test.toml:43:1: unknown key `control`; there are:",
        ),
        (
            "stop = \"110 s\"",
            "stop = \"3 s\"",
            "test.toml:35:8: `stop`: expected an instant later than `start`",
        ),
        (
            "[\"40 s\", \"60 s\"]]\nrate",
            "[\"60 s\", \"40 s\"]]\nrate",
            "test.toml:36:9: `pause`: expected spans",
        ),
        ("max = \"4 Mbit/s\"", "max = \"100 kbit/s\"", "test.toml:37:"),
        (
            "kind = \"frames\"",
            "kind = \"fraems\"",
            "test.toml:38:19: unknown value `fraems`; did you mean frames?",
        ),
        ("fps = 25", "fps = 25, key_ratio = 3", "apply only to model = \"periodic\""),
        ("{ kind = \"frames\"", "{ kind = \"clip\", fps = 25 } #", "unknown key `fps`"),
        (
            "{ kind = \"frames\"",
            "{ kind = \"clip\", encoder = { kind = \"openh265\" } } #",
            "unknown value `openh265`",
        ),
        (
            "{ kind = \"frames\"",
            "{ kind = \"clip\", encoder = { latency = \"2 s\" } } #",
            "`source.encoder.latency`: expected 0 s to 1 s",
        ),
        (
            "{ kind = \"frames\"",
            "{ kind = \"clip\", file = \"bbb.mp4\" } #",
            "`source.file` is not available in this version",
        ),
        ("count = 2", "count = 0", "test.toml:39:9: `count` is 0: expected 1 to 100000"),
        ("size = \"50 kB\"", "size = \"0 B\"", "`size`: expected a size above zero"),
        ("received_bps", "recieved_bps", "unknown metric `recieved_bps`; did you mean received_bps?"),
        ("video#2.", "video#3.", "there is no flow named `video#3`; did you mean video#1 or video#2?"),
        ("min = \"0.9 Mbit/s\"", "min = 0.9", "test.toml:49:7: 0.9 has no unit: `received_bps` is in bit/s"),
        (
            "[[expect]]",
            "[[wlan]]\nname = \"cell\"\n[[expect]]",
            "[[wlan]] cells are not available in this version",
        ),
        ("[[link]]\nname = \"access\"", "[link]\nname = \"access\"", "test.toml:"),
    ] {
        assert!(GOOD.contains(found), "{found:?} is not in the scenario");
        let error = parse(&GOOD.replacen(found, changed, 1), &[]).unwrap_err();
        if !error.contains(expected) {
            wrong.push(format!("{changed}:\n  {error}\n  wanted: {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn overrides_are_checked_like_the_rest() {
    let scenario =
        parse(GOOD, &["seed=9", "link.bottleneck.rate=3 Mbit/s", "flow.tcp.algorithm=cubic"]).unwrap();
    assert_eq!(scenario.seed, 9);
    assert_eq!(scenario.links[1].forward.config.rate, Some(Bitrate::from_mbps(3)));
    for (change, expected) in [
        ("flow.video.control=fixt", "--set flow.video.control=fixt: \"fixt\": no such controller"),
        (
            "link.bottleneck.rate=3",
            "--set link.bottleneck.rate=3: invalid type: integer `3`, expected a rate",
        ),
        ("link.botleneck.rate=3", "there is no link named `botleneck`; did you mean bottleneck?"),
        ("flow.video.wieght=2", "--set flow.video.wieght=2: unknown key `wieght`; did you mean weight?"),
    ] {
        let error = parse(GOOD, &[change]).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_flow_needs_a_way_back() {
    let one_way = GOOD.replacen("both = true\nrate = \"100", "rate = \"100", 1);
    let error = parse(&one_way, &[]).unwrap_err();
    assert!(error.contains("no way for feedback from `client` to `server`"), "{error}");
}
