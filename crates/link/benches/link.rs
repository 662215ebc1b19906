//! What a packet costs on its way through a link: in, queued, served, flown, out.

use seaway_link::{Link, LinkConfig, Node, Outbox, Packet};
use seaway_units::{DataSize, Ecn, TimeDelta, Timestamp};

fn main() {
    divan::main();
}

/// As large as the simulator's payload.
type Payload = [u64; 6];

const PACKETS: u64 = 10_000;

/// A link at 99 % of its rate, driven as the simulator drives it, with some packets waiting and some flying.
struct Drive {
    link: Link<Payload>,
    wake: Option<Timestamp>,
    out: Outbox<Payload>,
    next_arrival: Timestamp,
    delivered: u64,
}

impl Drive {
    fn new(queue: &str) -> Self {
        let text = format!("rate = '100 Mbit/s'\ndelay = '5 ms'\nqueue = {{ {queue} }}");
        let config: LinkConfig = toml::from_str(&text).expect("a link");
        let link = config.plan().and_then(|plan| Link::new(&plan, 1, "bench")).expect("a link");
        let (wake, out) = (None, Outbox::default());
        let mut drive = Self { link, wake, out, next_arrival: Timestamp::ZERO, delivered: 0 };
        // A standing queue; then every store has reached its size.
        (0..20).for_each(|_| drive.arrive());
        drive.run(PACKETS);
        drive
    }

    fn arrive(&mut self) {
        let packet = Packet::new(DataSize::from_bytes(1200), Ecn::Ect0, [0; 6]);
        self.wake = self.link.on_packet(self.next_arrival, Link::<Payload>::IN, packet, &mut self.out);
    }

    fn run(&mut self, packets: u64) -> u64 {
        for _ in 0..packets {
            // A service takes 96 µs.
            self.next_arrival += TimeDelta::from_micros(97);
            while let Some(due) = self.wake.filter(|&due| due <= self.next_arrival) {
                self.wake = self.link.run(due, due + TimeDelta::from_nanos(1), &mut self.out);
            }
            while let Some(departure) = self.out.pop_departure(self.next_arrival) {
                self.delivered += departure.packet.payload[0] + 1;
            }
            self.arrive();
        }
        self.delivered
    }
}

#[divan::bench(args = [
    "kind = 'drop-tail', packets = 100",
    "kind = 'red'",
    "kind = 'codel'",
    "kind = 'fq-codel'",
    "kind = 'pie'",
    "kind = 'dualpi2'",
])]
fn packets(bencher: divan::Bencher<'_, '_>, queue: &str) {
    let mut drive = Drive::new(queue);
    bencher.counter(divan::counter::ItemsCount::new(PACKETS)).bench_local(|| drive.run(PACKETS));
}
