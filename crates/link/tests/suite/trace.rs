//! Trace formats, and links that follow traces.

use crate::host::{Host, at_millis};
use proptest::prelude::*;
use seaway_link::{LinkConfig, Trace};
use seaway_testkit::shared;
use seaway_units::{Bitrate, Ecn};

const QUEUE: &str = "queue = { kind = 'drop-tail', packets = 1000 }\n";

fn traced(text: &str, more: &str) -> Host {
    let config: LinkConfig = toml::from_str(&format!("{QUEUE}trace = {{ file = 'x'{more} }}")).unwrap();
    Host::planned(&config.plan_with(&mut |_| Ok(text.to_owned())).unwrap(), 1)
}

fn send(host: &mut Host, millis: f64, packets: u64, bytes: u64) {
    (0..packets).for_each(|_| host.send(at_millis(millis), bytes, Ecn::NotEct));
}

fn delivery_millis(host: &Host) -> Vec<f64> {
    host.delivered.iter().map(|(at, _)| at.as_nanos() as f64 / 1e6).collect()
}

/// One datagram of 1500 B is one opportunity; smaller ones share it, larger ones take several.
#[test]
fn mahimahi_delivers_octets_at_opportunities() {
    let trace = "5\n5\n7\n10\n";
    let mut host = traced(trace, "");
    send(&mut host, 0.0, 6, 1500);
    host.finish();
    assert_eq!(delivery_millis(&host), [5.0, 5.0, 7.0, 10.0, 15.0, 15.0]);

    // 748 B and 4 of tunnel header: two in an opportunity.
    let mut host = traced(trace, "");
    send(&mut host, 0.0, 5, 748);
    host.finish();
    assert_eq!(delivery_millis(&host), [5.0, 5.0, 5.0, 5.0, 7.0]);

    let mut host = traced(trace, "");
    send(&mut host, 0.0, 2, 3000);
    host.finish();
    assert_eq!(delivery_millis(&host), [5.0, 10.0]);
}

#[test]
fn mahimahi_opportunities_without_a_packet_are_gone() {
    let mut host = traced("5\n7\n10\n", "");
    send(&mut host, 6.0, 1, 1500);
    // Arrives with an opportunity: that has passed.
    send(&mut host, 10.0, 1, 1500);
    host.finish();
    assert_eq!(delivery_millis(&host), [7.0, 15.0]);
    let statistics = host.link.statistics(at_millis(15.0));
    // Four opportunities until then, two used.
    assert!((statistics.utilisation - 0.5).abs() < 1e-9, "{}", statistics.utilisation);
}

#[test]
fn mahimahi_without_loop_ends() {
    let mut host = traced("5\n7\n", ", loop = false");
    send(&mut host, 0.0, 3, 1500);
    host.finish();
    assert_eq!(delivery_millis(&host), [5.0, 7.0]);
    assert_eq!(host.link.inside(host.now), 1);
}

#[test]
fn mahimahi_outage_wastes_opportunities() {
    let config = format!("{QUEUE}trace = {{ file = 'x' }}\noutage = [['4 ms', '6 ms']]");
    let config: LinkConfig = toml::from_str(&config).unwrap();
    let mut host = Host::planned(&config.plan_with(&mut |_| Ok("5\n7\n10\n".to_owned())).unwrap(), 1);
    send(&mut host, 0.0, 2, 1500);
    host.finish();
    assert_eq!(delivery_millis(&host), [7.0, 10.0]);
}

/// 1000 B are 8000 bit; the packet in service goes on at the new rate.
#[test]
fn a_table_is_followed_to_the_bit() {
    let mut host = traced("10 1\n11 0\n12 0.004\n13 8\n14 8\n", "");
    send(&mut host, 998.0, 2, 1000);
    host.finish();
    // 2 ms at 1 Mbit/s: 2000 bit; a second at nothing; 4000 bit in a second at 4 kbit/s; 2000 bit at 8 Mbit/s.
    assert_eq!(delivery_millis(&host), [3000.25, 3001.25]);
}

#[test]
fn a_table_repeats_after_its_last_row() {
    let mut host = traced("0 1\n1 2\n", "");
    for at in [0.0, 1000.0, 2000.0, 3000.0] {
        send(&mut host, at, 1, 1000);
    }
    host.finish();
    assert_eq!(delivery_millis(&host), [8.0, 1004.0, 2008.0, 3004.0]);
    let mut host = traced("0 1\n1 2\n", ", loop = false");
    send(&mut host, 9000.0, 1, 1000);
    host.finish();
    assert_eq!(delivery_millis(&host), [9004.0]);
}

#[test]
fn rows_of_one_second_share_it() {
    let heading = "Timestamp,Speed,DL_bitrate,UL_bitrate\n";
    let rows =
        "2020.02.13_23.59.59,0,8000,1000\n2020.02.13_23.59.59,0,4000,1000\n2020.02.14_00.00.01,0,0,2000\n";
    let mut host = traced(&format!("{heading}{rows}"), "");
    for at in [0.0, 999.0, 1000.0] {
        send(&mut host, at, 1, 1000);
    }
    host.finish();
    assert_eq!(delivery_millis(&host), [1.0, 1000.0, 1002.0]);
    let up = Trace::parse(&format!("{heading}{rows}"), Some("UL_bitrate"), true).unwrap();
    // 2 s at 1 Mbit/s and 1 s at 2
    assert_eq!(up.mean_rate(), Bitrate::from_bps(1_333_333));
}

#[test]
fn patterns_are_read_from_json() {
    let text = r#"{"uplink": {"trace_pattern": [{"duration": 500, "capacity": 1000, "loss": 0},
                                               {"duration": 250, "capacity": 4000}]}, "downlink": {}}"#;
    let trace = Trace::parse(text, None, true).unwrap();
    assert_eq!(trace.mean_rate(), Bitrate::from_mbps(2));
    let mut host = traced(text, "");
    send(&mut host, 1250.0, 1, 1000);
    host.finish();
    assert_eq!(delivery_millis(&host), [1252.0]);
}

#[test]
fn what_is_no_trace_is_refused_with_its_line() {
    for (text, expected) in [
        ("", "line 1: found nothing"),
        ("5\n3\n", "line 2: found \"3\", expected a time not before"),
        ("5\nx\n", "line 2: found \"x\", expected whole milliseconds"),
        ("-5\n", "line 1: found \"-5\""),
        ("0\n", "line 1: found no time above zero"),
        ("0 1\n1\n", "line 2: found \"1\", expected two numbers"),
        ("0 1\n\n1 nan\n", "line 3: found NaN bit/s"),
        ("0 1\n-1 1\n", "line 2: found -1"),
        ("0 1e9\n", "line 1: found 1000000000000000 bit/s, expected a rate from 0 to 1 Tbit/s"),
        ("0 0\n1 0\n", "line 1: found no rate above zero"),
        ("0 1\n1e-9 1\n", "line 1: found 2 ns in all, expected a trace of at least 1 ms"),
        ("1 2 3\n", "line 1: found \"1 2 3\", expected one number"),
        ("a,b\n1,2\n", "expected a column Timestamp"),
        ("Timestamp,UL_bitrate\n", "expected a column DL_bitrate"),
        ("Timestamp,DL_bitrate\n", "line 1: found no rows"),
        ("Timestamp,DL_bitrate\nnow,5\n", "line 2: found \"now,5\", expected a time such as"),
        (
            "Timestamp,DL_bitrate\n2020.02.13_13.57.29,?\n",
            "line 2: found \"2020.02.13_13.57.29,?\", expected a rate",
        ),
        ("{\n\"uplink\": 5}", "line 2: found invalid type"),
        ("{\"uplink\": {}}", "line 1: found no rows"),
        (r#"{"uplink":{"trace_pattern":[{"duration":0,"capacity":1}]}}"#, "found duration 0"),
    ] {
        let error = Trace::parse(text, None, true).unwrap_err().to_string();
        assert!(error.contains(expected), "{text:?}: {error}");
    }
    let error = Trace::parse("5\n", Some("uplink"), true).unwrap_err().to_string();
    assert!(error.contains("trace.series: found uplink, expected none"), "{error}");
    let error = Trace::parse("{}", Some("sideways"), true).unwrap_err().to_string();
    assert!(error.contains("expected uplink or downlink"), "{error}");
}

/// Loss ratios of a recording act at their time, over and over.
#[test]
fn recorded_loss() {
    let pattern =
        r#"{"uplink": {"trace_pattern": [{"duration": 500, "loss": 0}, {"duration": 500, "loss": 0.2}]}}"#;
    for text in [pattern, "7.0 0\n7.5 0.2\n"] {
        let config = format!("{QUEUE}rate = '80 Mbit/s'\nloss = {{ kind = 'trace', file = 'x' }}");
        let config: LinkConfig = toml::from_str(&config).unwrap();
        assert_eq!(config.check(), Ok(()));
        assert!(config.plan().unwrap_err().to_string().contains("loss.file: found \"x\": no file"));
        let mut host = Host::planned(&config.plan_with(&mut |_| Ok(text.to_owned())).unwrap(), 1);
        for n in 0..20_000 {
            send(&mut host, f64::from(n), 1, 100);
        }
        host.finish();
        assert!(host.dropped.iter().all(|dropped| dropped.at.as_nanos() / 500_000_000 % 2 == 1));
        let ratio = host.dropped.len() as f64 / 10_000.0;
        assert!((ratio - 0.2).abs() < 0.015, "{ratio}");
    }
    for (text, expected) in [
        ("", "line 1: found no rows"),
        ("0 2\n", "line 1: found \"0 2\", expected two numbers"),
        ("0 0.1\n0 0.2\n", "line 2: found \"0 0.2\""),
        ("{}", "line 1: found no rows"),
        (
            r#"{"uplink":{"trace_pattern":[{"duration":5}]}}"#,
            "found loss None, expected a number from 0 to 1",
        ),
    ] {
        let config = format!("{QUEUE}rate = '80 Mbit/s'\nloss = {{ kind = 'trace', file = 'x' }}");
        let config: LinkConfig = toml::from_str(&config).unwrap();
        let error = config.plan_with(&mut |_| Ok(text.to_owned())).map(drop).unwrap_err().to_string();
        assert!(error.contains(expected), "{text:?}: {error}");
    }
}

#[test]
fn configuration_of_traces() {
    let config = |text: &str| toml::from_str::<LinkConfig>(&format!("{QUEUE}{text}")).unwrap();
    let steps = config("trace = { file = 'x' }\nsteps = [['1 s', '1 Mbit/s']]");
    assert!(steps.check().unwrap_err().to_string().contains("steps beside a trace"));
    let plain = config("trace = { file = 'x', series = 'UL_bitrate' }");
    assert_eq!(plain.check(), Ok(()));
    assert!(
        plain.plan().unwrap_err().to_string().contains("trace.file: found \"x\": no file can be read here")
    );
}

/// The means that the traces' index states; over time, not over rows, where rows are not evenly spaced.
#[test]
fn published_traces() {
    let Some(traces) = shared("traces") else { return };
    for (file, mean_kbps) in [
        ("mahimahi/ATT-LTE-driving.down", 5170),
        ("mahimahi/Verizon-EVDO-driving.up", 840),
        ("mahimahi/nyc-trace-1552768760-taxi3", 9570),
        ("5g-irish/download_driving_B_2020.02.14_12.58.17.csv", 4732),
        ("5g-lumos/4g_trace_walking_50007_c", 97_440),
        ("5g-lumos/5g_trace_103_driving", 296_880),
        ("hsdpa3g-norway/norway_bus_1", 2945),
        ("wifi-solis/wifi_cafe_231115-151422.txt", 7860),
        ("rtc-gym/4G_500kbps.json", 500),
        ("rtc-gym/trace_loss_pattern_2.json", 1000),
    ] {
        let text = std::fs::read_to_string(traces.join(file)).unwrap();
        let mean = Trace::parse(&text, None, true).unwrap().mean_rate().as_bps_f64() / 1e3;
        assert!((mean / f64::from(mean_kbps) - 1.0).abs() < 0.01, "{file}: {mean}");
    }
}

#[test]
fn a_saturated_link_carries_what_the_trace_offers() {
    let Some(traces) = shared("traces") else { return };
    for file in ["mahimahi/ATT-LTE-driving-2016.down", "5g-irish/download_driving_B_2020.02.14_12.58.17.csv"]
    {
        let text = std::fs::read_to_string(traces.join(file)).unwrap();
        let mut host = traced(&text, "");
        for millis in 0..20_000 {
            send(&mut host, f64::from(millis), 4, 1500);
        }
        let statistics = host.link.statistics(at_millis(20_000.0));
        assert!(statistics.utilisation > 0.99, "{file}: {}", statistics.utilisation);
    }
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in "[0-9 .,\\-eE\n]{0,200}|\\PC{0,60}|[{}\\[\\]\":a-z0-9,]{0,80}") {
        for series in [None, Some("uplink"), Some("DL_bitrate")] {
            if let Ok(trace) = Trace::parse(&text, series, true) {
                prop_assert!(trace.mean_rate() <= Bitrate::MAX);
            }
        }
    }

    /// However rates change, octets leave no faster than the rates allow and as soon as they do.
    #[test]
    fn a_followed_table_serves_its_integral(rates in prop::collection::vec(0_u32..50, 1..20), bytes in 1_u64..3000) {
        let rows: String = rates.iter().enumerate().map(|(n, rate)| format!("{} {}\n", n as f64 / 100.0, f64::from(*rate) / 10.0)).collect();
        prop_assume!(rates.iter().any(|&rate| rate > 0));
        let mut host = traced(&rows, ", loop = false");
        send(&mut host, 0.0, 200, bytes);
        host.run_until(at_millis(rates.len() as f64 * 10.0));
        // 0.1 Mbit/s for 10 ms are 1000 bit.
        let integral = rates.iter().map(|&rate| u64::from(rate) * 1000).sum::<u64>();
        let sent = host.link.statistics(at_millis(rates.len() as f64 * 10.0)).delivered.packets * bytes * 8;
        prop_assert!(sent <= integral);
        prop_assert!(sent == 200 * bytes * 8 || sent + bytes * 8 + 8 > integral, "{sent} of {integral}");
    }
}
