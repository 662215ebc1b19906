use super::*;
use crate::library;
use proptest::prelude::*;
use seaway_sim::wlan::{AssociationModel, Guard, RateChoice};
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

fn assert_refused(scenario: &str, mistakes: &str) {
    seaway_testkit::assert_refused(scenario, mistakes, |text| parse(text, &[]).err());
}

#[test]
fn mistakes_are_named_with_their_place() {
    assert_refused(
        GOOD,
        r#"schema = 1 | schema = 2 | test.toml:1:10: `schema` is 2: expected 1
schema = 1\n |  | test.toml: the key `schema` is missing
warmup = | warmpu = | test.toml:4:1: unknown key `warmpu`; did you mean warmup?
"20 s" | "200 s" | test.toml:4:10: `warmup` is 200 s: expected at least 0 s and less than
"120 s" | 120 | test.toml:3:12: invalid type: integer `120`, expected a time such as "40 ms"
"120 s" | "120" | test.toml:3:12: "120" has no unit: expected a time
delay = "5 ms" | dealy = "5 ms" | test.toml:12:1: unknown key `dealy`; did you mean delay?
both = true | booth = true | test.toml:10:1: unknown key `booth`; did you mean both?
packets = 100 | packets = 0 | test.toml:13:41: queue.packets: found 0, expected at least 1
packets = 100 | pakets = 100 | test.toml:13:31: unknown key `pakets`; did you mean packets?
packets = 100 | target = "5 ms" | test.toml:13:31: unknown key `target`; there are: packets,
packets = 100 | packets = "x" | test.toml:13:41: invalid type: string "x", expected a whole
packets = 100 | time = "5 weeks" | test.toml:13:38: "5 weeks" has an unknown unit
{ kind = "drop-tail", packets = 100 } | "drop-tail" | test.toml:13:9: invalid type: string "drop-tail", expected a queue such as { kind
{ kind = "drop-tail", packets | { packets | test.toml:13:9: the key `kind` is missing; there are: drop-tail, red, codel
burst = 4 | brust = 4 | test.toml:24:49: unknown key `brust`; did you mean burst?
{ kind = "gilbert-elliott", mean | { mean | `kind` is missing; there are: independent, periodic
delay = "5 ms" | rate = "5 ms" | test.toml:12:1: the key `rate` is there twice
schema = 1 | schema = 1\nseed = -1 | test.toml:2:8: invalid value: integer `-1`, expected a whole
schema = 1 | schema = 99999999999999999999 | test.toml:1:10: 99999999999999999999 is too large, expected a smaller number
packets = 100 | packets = 99999999999999999999 | test.toml:13:41: 99999999999999999999 is too large
count = 2 | feedback = { interval = "2 s" } | test.toml:39:25: "feedback=2 s": out of range; expected 5 ms to 1 s
{ kind = "frames", fps = 25 } | { fps = 25 } | `kind` is missing; there are: saturated, cbr
rate = 0.01 | rate = 1.5 | test.toml:26:
mean = 0.02 | mean = 2 | test.toml:24:
to = "client"\nboth = true | to = "client" | test.toml:25:11: `reverse` applies only where
to = "client"\nstart | to = "cleint"\nstart | no link or cell has a node `cleint`; did you mean client?
name = "bottleneck" | name = "access" | test.toml:16:8: there are two links named `access`
name = "bottleneck" | name = "a b" | test.toml:16:8: `name`: expected a name without blanks
fixed(rate=1 Mbit/s) | fixt | test.toml:31:11: "fixt": no such controller; did you mean fixed?
"media" | "medai" | test.toml:30:8: unknown kind of flow `medai`; did you mean media?
kind = "tcp" | kind = "tcp"\ncontrol = "fixed" | test.toml:43:1: unknown key `control`; there are:
stop = "110 s" | stop = "3 s" | test.toml:35:8: `stop`: expected an instant later than `start`
["40 s", "60 s"]]\nrate | ["60 s", "40 s"]]\nrate | test.toml:36:9: `pause`: expected spans
max = "4 Mbit/s" | max = "100 kbit/s" | test.toml:37:
kind = "frames" | kind = "fraems" | test.toml:38:19: unknown value `fraems`; did you mean frames?
fps = 25 | fps = 25, key_ratio = 3 | apply only to model = "periodic"
fps = 25 | fps = 25, spread = 0.15 | apply only to model = "periodic"
fps = 25 | model = "periodic", spread = 0.6 | `source.spread`: expected 0 to 0.5
fps = 25 | model = "pereodic" | unknown value `pereodic`; did you mean periodic?
rate = { min | rate = 1 # | invalid type: integer `1`, expected a table
{ kind = "frames" | { kind = "clip", fps = 25 } # | unknown key `fps`
{ kind = "frames" | { kind = "clip", encoder = { kind = "openh265" } } # | unknown value `openh265`
{ kind = "frames" | { kind = "clip", encoder = { latency = "2 s" } } # | `source.encoder.latency`: expected 0 s to 1 s
count = 2 | count = 0 | test.toml:39:9: `count` is 0: expected 1 to 100000
count = 2 | count = 100000 | more than 100000 flows in all
min = "0.9 Mbit/s" | min = "5 Mbit/s" | `max`: expected at least `min`
name = "video" | name = "" | `name` is empty
size = "50 kB" | size = "0 B" | `size`: expected a size above zero
received_bps | recieved_bps | unknown metric `recieved_bps`; did you mean received_bps?
video#2. | video#3. | there is no flow named `video#3`; did you mean video#1 or video#2?
min = "0.9 Mbit/s" | min = 0.9 | test.toml:49:7: 0.9 has no unit: `received_bps` is in bit/s
[[expect]] | [[wlna]]\nname = "cell"\n[[expect]] | unknown key `wlna`; did you mean wlan?
[[link]]\nname = "access" | [link]\nname = "access" | test.toml:"#,
    );
}

/// Flows without a name have one each, whatever the others are called, and in no time.
#[test]
fn ten_thousand_flows_without_a_name() {
    let flow = "[[flow]]\nkind = \"udp\"\nrate = \"1 kbit/s\"\nfrom = \"a\"\nto = \"b\"\n";
    let link = "[[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\nboth = true\nrate = \"1 Mbit/s\"\n\
        queue = { kind = \"drop-tail\", packets = 9 }\n";
    let text = format!(
        "schema = 1\nname = \"many\"\nduration = \"1 s\"\n{link}{flow}name = \"udp-2\"\n{}",
        flow.repeat(9_999)
    );
    let scenario = parse(&text, &[]).unwrap();
    let name = |index: usize| scenario.flows[index].name.as_str();
    assert_eq!([name(0), name(1), name(2), name(9_999)], ["udp-2", "udp", "udp-3", "udp-10000"]);
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
        (
            "link.access.queue.pakets=3",
            "--set link.access.queue.pakets=3: unknown key `pakets`; did you mean packets?",
        ),
        ("link.access.queue.packets=x", "--set link.access.queue.packets=x: invalid type: string \"x\""),
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

/// An 802.11 cell behind a router, and what is wrong with it where it is changed.
const WLAN: &str = r#"schema = 1
name = "wlan"
duration = "1 s"
[[link]]
name = "access"
from = "server"
to = "ap"
both = true
rate = "100 Mbit/s"
queue = { kind = "drop-tail", packets = 100 }
[[wlan]]
name = "cell"
standard = "802.11ac"
width = "20 MHz"
mcs = 4
guard = "short"
error = "yans"
path_loss = { exponent = 3.0, at_1m = "46.6777 dB" }
preamble_detection = true
retries = 7
ap = { name = "ap", at = ["0 m", "0 m"], queue = { packets = 500, time = "500 ms" } }
station = [{ name = "sta0", at = ["60 m", "0 m"] }, { name = "sta1", at = ["30 m", "0 m"] }]
[[flow]]
name = "down"
kind = "udp"
from = "server"
to = "sta1"
rate = "1 Mbit/s"
access = "vi"
[[flow]]
name = "between"
kind = "udp"
from = "sta0"
to = "sta1"
rate = "1 Mbit/s"
"#;

#[test]
fn an_802_11_cell_is_parsed() {
    let scenario = Scenario::parse(Text::alone("wlan.toml", WLAN), &[]).unwrap();
    assert_eq!(scenario.nodes(), ["server", "ap", "sta0", "sta1"]);
    let CellKind::Wlan(config) = &scenario.cells[0].kind else { panic!("another kind") };
    assert_eq!((config.mcs, config.width), (Some(RateChoice::Constant(4)), Some(20)));
    assert_eq!((config.guard, config.ap.queue.packets), (Some(Guard::Short), 500));
    assert_eq!(config.station[0].at.x, 60.0);
    assert_eq!(config.categories.len(), 2);
    let walking = WLAN.replace(
        "[\"60 m\", \"0 m\"] }",
        "[\"60 m\", \"0 m\"], path = [{ time = \"2 s\", at = [\"9 m\", \"0 m\"] }] }",
    );
    let walking = walking.replace("retries = 7", "assoc = \"frames\"");
    let scenario = Scenario::parse(Text::alone("wlan.toml", &walking), &[]).unwrap();
    let CellKind::Wlan(config) = &scenario.cells[0].kind else { panic!("another kind") };
    assert_eq!(config.assoc, AssociationModel::Frames);
    assert_eq!((config.station[0].path[0].at.x, config.station[1].path.len()), (9.0, 0));
    let planned = WLAN
        .replace("station = [{ name = \"sta0\", at = [\"60 m\", \"0 m\"] }, { name = \"sta1\", at = [\"30 m\", \"0 m\"] }]", "plan = { kind = \"grid\", count = 5, spacing = \"30 m\" }");
    let scenario = Scenario::parse(Text::alone("wlan.toml", &planned), &[]).unwrap();
    assert_eq!(scenario.cells[0].stations.len(), 5);
}

#[test]
fn mistakes_in_an_802_11_cell_are_named_with_their_place() {
    assert_refused(
        WLAN,
        r#"802.11ac | 802.11ax | test.toml:13:12: unknown value `802.11ax`;
mcs = 4 | msc = 4 | test.toml:15:1: unknown key `msc`; did you mean mcs?
mcs = 4 | mcs = 9 | test.toml:15:7: `mcs`: 802.11ac has no MCS 9 at 20 MHz
mcs = 4 | mcs = "best" | test.toml:15:7: "best": expected an index
mcs = 4 | rate = "11 Mbit/s" | test.toml:15:8: `rate`: applies only to 802.11a, b and g
width = "20 MHz" | width = "30 MHz" | test.toml:14:9: `width`: 802.11n has 20
width = "20 MHz" | width = 20 | test.toml:14:9:
"60 m" | "60" | "60": expected a length such as "30 m"
retries = 7 | retries = 0 | test.toml:20:11: `retries`: expected 1 to 255
retries = 7 | assoc = "frame" | unknown value `frame`
["30 m", "0 m"] | ["30 m", "0 m"], path = [{ time = "2 s", at = ["9 m", "0 m"] }, { time = "1 s", at = ["8 m", "0 m"] }] | `station.1.path`: expected at most 1000 points, each later than the one before
["30 m", "0 m"] | ["30 m", "0 m"], path = [{ time = "2 s", to = ["9 m", "0 m"] }] | unknown key `to`
to = "sta1" | to = "sta3" | no link or cell has a node `sta3`; did you mean sta
name = "sta1" | name = "sta0" | sta0
802.11ac" | 802.11g" | applies only to 802.11n and ac
access = "vi" | access = "video" | unknown value `video`"#,
    );
}

#[test]
fn mistakes_in_attachments_are_named_with_their_place() {
    const ATTACHED: &str = "[[attach]]\nnode = \"server\"\nudp = \"127.0.0.1:5004\"\n[[attach]]\nnode = \"client\"\nudp = \"127.0.0.1:5005\"\npeer = \"127.0.0.1:5006\"\n";
    let text = format!("{GOOD}{ATTACHED}");
    assert_eq!(parse(&text, &[]).unwrap().attach.len(), 2);
    assert_refused(
        &text,
        r#"127.0.0.1:5004 | localhost | "localhost": expected an address and a port, such as
127.0.0.1:5005 | 127.0.0.1:5004 | `udp`: another [[attach]] has it already
127.0.0.1:5006 | 127.0.0.1:5004 | `peer`: expected the socket of a program
node = "client" | node = "server" | `node`: another [[attach]] stands there already
node = "client" | node = "cleint" | no link or cell has a node `cleint`; did you mean client?"#,
    );
}

/// What may stand in a scenario where something else stood.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z_ ={}\\[\\]\",.0-9-]{0,12}",
        Just("-1".to_owned()),
        Just("99999999999999999999".to_owned()),
        Just("\"1e308 Mbit/s\"".to_owned()),
        Just("\"-3 s\"".to_owned()),
        Just("nan".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// A scenario of the library with a piece replaced is valid, or refused with its place.
    #[test]
    fn edited_scenarios_are_valid_or_refused(
        entry in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        length in 0..12_usize,
        piece in piece(),
    ) {
        let entries = library::entries();
        let entry = entries[entry.index(entries.len())];
        let mut starts: Vec<usize> = entry.text.char_indices().map(|(at, _)| at).collect();
        starts.push(entry.text.len());
        let from = at.index(starts.len());
        let to = (from + length).min(starts.len() - 1);
        let text = format!("{}{piece}{}", &entry.text[..starts[from]], &entry.text[starts[to]..]);
        let read = |name: &str| entry.read(name);
        match Scenario::parse(Text { file: "edited", text: &text, read: &read }, &[]) {
            Ok(scenario) => prop_assert!(scenario.warmup < scenario.duration),
            Err(error) => prop_assert!(error.to_string().starts_with("edited"), "{}", error),
        }
    }
}
