//! `seaway emulate`: between sockets, and between the kernels of two network namespaces.

use super::lane::{attached, link};
use super::namespaces::{ip, within};
use super::process::{Live, TIMEOUT, free_port, has, seaway, skip};
use super::schema::check;
use seaway_net::Clock;
use seaway_units::TimeDelta;
use serde_json::Value;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// 10 Mbit/s and 20 ms each way.
const LANE: &str = r#"
rate = "10 Mbit/s"
delay = "20 ms"
queue = { kind = "drop-tail", packets = 100 }
"#;

fn lane(near: &str, far: &str) -> String {
    attached(&link(LANE), near, far)
}

/// An emulator of this scenario; it does not mind how late it is.
fn emulate(folder: &Path, scenario: &str, more: &[&str]) -> Live {
    std::fs::write(folder.join("lane.toml"), scenario).unwrap();
    let arguments = ["emulate", "lane.toml", "--json", "--bound", "60 s"];
    Live::start(seaway(folder, &[&arguments[..], more].concat()))
}

fn report(output: &str) -> Value {
    let report = serde_json::from_str(output).unwrap_or_else(|error| panic!("{error}: {output}"));
    check("emulation", &report);
    report
}

#[test]
fn datagrams_take_the_links_both_ways() {
    let folder = tempfile::tempdir().unwrap();
    let peer = || UdpSocket::bind("127.0.0.1:0").unwrap();
    let (near, far) = (peer(), peer());
    let ports = (free_port(), free_port());
    let scenario = lane(
        &format!("udp = \"127.0.0.1:{}\"", ports.0),
        &format!("udp = \"127.0.0.1:{}\"\npeer = \"{}\"", ports.1, far.local_addr().unwrap()),
    );
    let mut emulator = emulate(folder.path(), &scenario, &[]);
    emulator.wait_for_note("far is at udp");
    let clock = Clock::start();
    for (from, to, port) in [(&near, &far, ports.0), (&far, &near, ports.1)] {
        to.set_read_timeout(Some(TIMEOUT)).unwrap();
        for number in 0..20u8 {
            let sent = clock.now();
            from.send_to(&[number; 100], ("127.0.0.1", port)).unwrap();
            let mut buffer = [0; 200];
            let (length, _) = to.recv_from(&mut buffer).unwrap();
            assert_eq!(buffer[..length], [number; 100]);
            // 128 B with their headers take 0.1024 ms more; the kernel's stamp may precede our clock by a little.
            let took = clock.now() - sent;
            assert!(took >= TimeDelta::from_micros(20_000), "{took}");
        }
    }
    let report = report(&emulator.finish());
    for (index, port) in [ports.0, ports.1].into_iter().enumerate() {
        let attach = &report["attach"][index];
        assert_eq!(attach["udp"], format!("127.0.0.1:{port}"));
        for way in ["entered", "left"] {
            assert_eq!(
                (&attach[way]["packets"], &attach[way]["bytes"]),
                (&20.into(), &2560.into()),
                "{attach}"
            );
        }
    }
    assert_eq!(report["inside"], 0);
    assert!(report["lateness"]["p99_ms"].as_f64().unwrap() <= report["lateness"]["max_ms"].as_f64().unwrap());
    assert_eq!(report["links"][0]["name"], "lane");
}

#[test]
fn datagrams_of_every_size_stay_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (near, far) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    let port = free_port();
    let scenario = lane(
        &format!("udp = \"127.0.0.1:{port}\""),
        &format!("udp = \"127.0.0.1:0\"\npeer = \"{}\"", far.local_addr().unwrap()),
    );
    let mut emulator = emulate(folder.path(), &scenario, &[]);
    emulator.wait_for_note("far is at udp");
    far.set_read_timeout(Some(TIMEOUT)).unwrap();
    for length in [0, 1, 1472, 1473, 2049, 9000, 65_507] {
        let sent: Vec<u8> = (0..length).map(|index: usize| index as u8).collect();
        near.send_to(&sent, ("127.0.0.1", port)).unwrap();
        let mut buffer = vec![0; 65_535];
        let (received, _) = far.recv_from(&mut buffer).unwrap();
        assert_eq!(buffer[..received], sent, "{length}");
    }
    emulator.finish();
}

#[test]
fn a_signal_lets_what_is_inside_leave() {
    let folder = tempfile::tempdir().unwrap();
    let (near, far) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    let port = free_port();
    let scenario = lane(
        &format!("udp = \"127.0.0.1:{port}\""),
        &format!("udp = \"127.0.0.1:0\"\npeer = \"{}\"", far.local_addr().unwrap()),
    );
    let slow = ["--set", "link.lane.delay=1 s"];
    let mut emulator = emulate(folder.path(), &scenario, &slow);
    emulator.wait_for_note("far is at udp");
    near.send_to(b"late", ("127.0.0.1", port)).unwrap();
    // Once this is back the first is in, too.
    near.send_to(b"later", ("127.0.0.1", port)).unwrap();
    far.set_read_timeout(Some(TIMEOUT)).unwrap();
    let clock = Clock::start();
    clock.sleep_until(clock.now() + TimeDelta::from_millis(200));
    let report = report(&emulator.finish());
    assert_eq!((&report["attach"][1]["left"]["packets"], &report["inside"]), (&2.into(), &0.into()));
    assert_eq!(far.recv_from(&mut [0; 10]).unwrap().0, 4);
}

#[test]
fn a_run_that_is_late_is_void() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = lane("udp = \"127.0.0.1:0\"", "udp = \"127.0.0.1:0\"");
    std::fs::write(folder.path().join("lane.toml"), scenario).unwrap();
    let arguments = ["emulate", "lane.toml", "--json", "--duration", "100 ms", "--bound", "1 ns"];
    let (status, output, _) = Live::start(seaway(folder.path(), &arguments)).end();
    assert_eq!(status.code(), Some(3));
    let report = report(&output);
    assert_eq!((&report["lateness"]["held"], &report["schema"]), (&false.into(), &1.into()));
    assert!(report["emulated_s"].as_f64().unwrap() >= 0.1);
}

#[test]
fn attachments_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let busy = format!("udp = \"{}\"", taken.local_addr().unwrap());
    let free = "udp = \"127.0.0.1:0\"";
    let cases = [
        (lane(&busy, free), taken.local_addr().unwrap().to_string()),
        (link(LANE), "two [[attach]]".to_owned()),
        (lane(free, "tun = \"x\""), "`tun` alone or by `udp` alone".to_owned()),
        (lane(free, ""), "either `tun` or `udp`".to_owned()),
        (lane(free, "tun = \"a device of a long name\""), "name of a device".to_owned()),
        (lane(free, "tun = \"tun%d\""), "name of a device".to_owned()),
        (lane("udp = \"127.0.0.1:7\"", "udp = \"127.0.0.1:7\""), "has it already".to_owned()),
        (lane(free, "udp = \"127.0.0.1:0\"").replace("\"far\"\nudp", "\"fra\"\nudp"), "far".to_owned()),
        (lane(free, free).replace("both = true", ""), "no way from `far` to `near`".to_owned()),
    ];
    for (scenario, expected) in cases {
        let (status, output, notes) = emulate(folder.path(), &scenario, &["--duration", "1 s"]).end();
        assert_eq!((status.code(), output.as_str()), (Some(2), ""), "{notes}");
        assert_eq!(notes.lines().count(), 1, "{notes}");
        assert!(notes.contains(&expected), "{expected}: {notes}");
    }
}

/// Two namespaces, each with one end of an emulated lane.
pub(crate) struct Lane {
    pub(crate) folder: tempfile::TempDir,
    hosts: [String; 2],
    emulator: Live,
}

impl Lane {
    /// Makes them, or says why the test is skipped. `mark` distinguishes tests.
    fn new(mark: &str) -> Option<Self> {
        Self::over(&link(LANE), mark)
    }

    /// As [`Lane::new`], over the network of `links` between `near` and `far`.
    pub(crate) fn over(links: &str, mark: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let hosts = ["n", "f"].map(|end| format!("sw{}{mark}{end}", std::process::id()));
        let [near, far] = &hosts;
        let made =
            has("ip", "-V").then(|| hosts.iter().try_for_each(|host| ip(&format!("netns add {host}"))))?;
        let is_there = made.is_some() && Path::new("/dev/net/tun").exists();
        let scenario = attached(links, &format!("tun = \"{near}\""), &format!("tun = \"{far}\""));
        let mut emulator = emulate(folder.path(), &scenario, &[]);
        if !is_there || !emulator.prints_note("far is at tun") {
            skip("TUN devices and network namespaces need root and a kernel that has them");
            remove(&hosts);
            return None;
        }
        let lane = Self { folder, hosts, emulator };
        lane.move_devices()?;
        Some(lane)
    }

    /// Each device into its namespace.
    fn move_devices(&self) -> Option<()> {
        for (host, number) in self.hosts.iter().zip(1..) {
            ip(&format!("link set {host} netns {host}"))?;
            ip(&format!("-n {host} addr add 10.98.0.{number}/24 dev {host}"))?;
            ip(&format!("-n {host} link set {host} up"))?;
        }
        Some(())
    }

    /// Runs seaway on that host, where nothing is protected.
    pub(crate) fn seaway(&self, host: usize, arguments: &[&str]) -> Live {
        let program = seaway(self.folder.path(), arguments).get_program().to_str().unwrap().to_owned();
        let arguments = [arguments, &["--insecure"]].concat();
        Live::start(within(&self.hosts[host], &program, self.folder.path(), &arguments))
    }

    fn run(&self, host: usize, program: &str, arguments: &str) -> String {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let output = within(&self.hosts[host], program, self.folder.path(), &arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn end(self) -> Value {
        let Self { hosts, emulator, .. } = self;
        let report = report(&emulator.finish());
        remove(&hosts);
        report
    }
}

fn remove(hosts: &[String]) {
    for host in hosts {
        let _ = ip(&format!("netns del {host}"));
    }
}

/// Two namespaces with two links between them, each by an emulator of its own.
pub(crate) struct Links {
    folder: tempfile::TempDir,
    hosts: [String; 2],
    _emulators: Vec<Live>,
}

impl Links {
    /// The address of the far host, by whichever link.
    pub(crate) const FAR: &str = "10.99.0.2";

    /// Makes them, or says why the test is skipped.
    pub(crate) fn new(links: &[String; 2]) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let mark = format!("{}x{}", std::process::id() % 100_000, COUNT.fetch_add(1, Ordering::Relaxed));
        let hosts = ["n", "f"].map(|end| format!("b{mark}{end}"));
        let folder = tempfile::tempdir().unwrap();
        let made =
            has("ip", "-V").then(|| hosts.iter().try_for_each(|host| ip(&format!("netns add {host}"))))?;
        let mut all = Self { folder, hosts, _emulators: Vec::new() };
        let is_there = made.is_some() && Path::new("/dev/net/tun").exists();
        if !is_there || links.iter().enumerate().any(|(index, link)| !all.add(index, link)) {
            skip("TUN devices and network namespaces need root and a kernel that has them");
            return None;
        }
        all.route()?;
        Some(all)
    }

    /// A file in the folder in which seaway runs.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The device of a host on a link.
    pub(crate) fn device(&self, host: usize, link: usize) -> String {
        format!("{}{link}", self.hosts[host])
    }

    fn add(&mut self, index: usize, link: &str) -> bool {
        let [near, far] = [0, 1].map(|host| format!("tun = \"{}\"", self.device(host, index)));
        let mut emulator = emulate(self.folder.path(), &attached(link, &near, &far), &[]);
        let is_there = emulator.prints_note("far is at tun");
        self._emulators.push(emulator);
        is_there
    }

    fn route(&self) -> Option<()> {
        let [near, far] = &self.hosts;
        ip(&format!("-n {far} link set lo up"))?;
        ip(&format!("-n {far} addr add {}/32 dev lo", Self::FAR))?;
        for link in 0..2 {
            for (host, number) in self.hosts.iter().zip(1..) {
                let device = self.device(number - 1, link);
                ip(&format!("link set {device} netns {host}"))?;
                ip(&format!("-n {host} addr add 10.98.{link}.{number}/24 dev {device}"))?;
                ip(&format!("-n {host} link set {device} up"))?;
            }
            ip(&format!("-n {near} route add {}/32 dev {} metric {link}", Self::FAR, self.device(0, link)))?;
            self.answer_by(link)?;
        }
        Some(())
    }

    /// The far host answers from the address that the near one sends to.
    fn answer_by(&self, link: usize) -> Option<()> {
        let (host, device) = (&self.hosts[1], self.device(1, link));
        ip(&format!("-n {host} route replace 10.98.{link}.0/24 dev {device} src {}", Self::FAR))
    }

    /// Ends a link or brings it back: what comes to its far end is lost, and nothing goes back.
    pub(crate) fn set_link(&self, link: usize, is_up: bool) {
        let state = if is_up { "up" } else { "down" };
        ip(&format!("-n {} link set {} {state}", self.hosts[1], self.device(1, link))).unwrap();
        if is_up {
            self.answer_by(link).unwrap();
        }
    }

    /// Runs seaway on that host.
    pub(crate) fn seaway(&self, host: usize, arguments: &[&str]) -> Live {
        let program = seaway(self.folder.path(), arguments).get_program().to_str().unwrap().to_owned();
        Live::start(within(&self.hosts[host], &program, self.folder.path(), arguments))
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        remove(&self.hosts);
    }
}

#[test]
fn the_kernels_own_programs_run_through_it() {
    if !has("ping", "-V") || !has("iperf3", "--version") {
        return;
    }
    let Some(mut lane) = Lane::new("") else { return };
    let taken = lane.hosts[0].clone();
    let ping = lane.run(0, "ping", "-c 10 -i 0.05 10.98.0.2");
    // rtt min/avg/max/mdev = 40.2/40.4/41.7/0.4 ms: the least of ten says nothing of the machine's load.
    let times = ping.lines().find_map(|line| line.split_once(" = ")).unwrap_or_else(|| panic!("{ping}")).1;
    let least: f64 = times.split('/').next().unwrap().parse().unwrap();
    assert!((40.0..45.0).contains(&least), "{ping}");

    let server =
        Live::start(within(&lane.hosts[1], "iperf3", lane.folder.path(), &["-s", "-1", "--forceflush"]));
    let (mut received, clock) = (None, Clock::start());
    for _ in 0..100 {
        let text = lane.run(0, "iperf3", "-c 10.98.0.2 -t 5 -C reno -J");
        let rate = serde_json::from_str::<Value>(&text).ok();
        received = rate.and_then(|report| report["end"]["sum_received"]["bits_per_second"].as_f64());
        if received.is_some() {
            break;
        }
        // The server does not listen yet.
        clock.sleep_until(clock.now() + TimeDelta::from_millis(100));
    }
    drop(server);
    // 1448 of 1500 B are payload: 9.65 Mbit/s at most, less what slow start loses.
    let rate = received.expect("iperf3 finds its server");
    assert!((6e6..9.7e6).contains(&rate), "{rate}");

    // Its name is taken while it runs.
    assert!(lane.emulator.is_running());
    let again = tempfile::tempdir().unwrap();
    let scenario = self::lane(&format!("tun = \"{taken}x\""), &format!("tun = \"{taken}y\""));
    let mut first = emulate(again.path(), &scenario, &[]);
    first.wait_for_note("far is at tun");
    let (status, _, notes) = emulate(again.path(), &scenario, &[]).end();
    assert_eq!((status.code(), notes.lines().count()), (Some(2), 1), "{notes}");
    assert!(notes.contains(&format!("{taken}x")) && notes.contains("in use"), "{notes}");
    first.finish();

    let report = lane.end();
    assert!(report["links"][0]["drops"]["queue"].as_u64().unwrap() > 0, "{report}");
    // A last packet may be inside when the run is ended, but none is unaccounted for.
    let count = |pointer: &str| report.pointer(pointer).and_then(Value::as_u64).unwrap();
    let sum = |what: &str| (0..2).map(|end| count(&format!("/attach/{end}/{what}"))).sum::<u64>();
    let drops = (0..2).map(|link| count(&format!("/links/{link}/drops/queue"))).sum::<u64>();
    assert_eq!(sum("entered/packets"), sum("left/packets") + drops + count("/inside"), "{report}");
    assert_eq!((sum("unsent"), sum("unclaimed")), (0, 0), "{report}");
}

/// Of every thread: the ids of its user and group, its capabilities, and whether it could gain more.
#[test]
fn root_is_given_up_once_the_devices_are_open() {
    let Some(lane) = Lane::new("p") else { return };
    let id = lane.emulator.id();
    let threads = std::fs::read_dir(format!("/proc/{id}/task")).unwrap();
    for thread in threads {
        let status = std::fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
        let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        for name in ["Uid:", "Gid:"] {
            assert!(line(name).split_whitespace().all(|id| id != "0"), "{status}");
        }
        assert_eq!(line("CapEff:").trim().trim_matches('0'), "", "{status}");
        assert_eq!((line("NoNewPrivs:").trim(), line("Groups:").trim()), ("1", ""), "{status}");
    }
    let ping =
        if has("ping", "-V") { lane.run(0, "ping", "-c 1 -W 10 10.98.0.2") } else { "1 received".into() };
    assert!(ping.contains("1 received"), "{ping}");
    lane.end();
}

#[test]
fn a_run_whose_devices_go_ends() {
    let Some(mut lane) = Lane::new("g") else { return };
    ip(&format!("netns del {}", lane.hosts[0])).unwrap();
    lane.emulator.wait_for_note("is gone: the run ends");
    let Lane { hosts, emulator, .. } = lane;
    let (status, output, notes) = emulator.end();
    remove(&hosts[1..]);
    assert!(status.success(), "{notes}");
    assert!(notes.contains(&format!("near: tun {} is gone", hosts[0])), "{notes}");
    assert!(report(&output)["emulated_s"].as_f64().unwrap() < 60.0);
}

#[test]
fn a_killed_run_leaves_no_device_and_can_start_again() {
    if !has("ping", "-V") {
        return;
    }
    let Some(mut lane) = Lane::new("k") else { return };
    let scenario = std::fs::read_to_string(lane.folder.path().join("lane.toml")).unwrap();
    std::mem::replace(&mut lane.emulator, Live::start(std::process::Command::new("true"))).kill();
    for host in &lane.hosts {
        assert_eq!(ip(&format!("-n {host} link show dev {host}")), None, "{host} is left");
    }
    lane.emulator = emulate(lane.folder.path(), &scenario, &[]);
    lane.emulator.wait_for_note("far is at tun");
    lane.move_devices().unwrap();
    let ping = lane.run(0, "ping", "-c 1 -W 10 10.98.0.2");
    assert!(ping.contains("1 received"), "{ping}");
    lane.end();
}
