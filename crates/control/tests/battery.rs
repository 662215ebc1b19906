//! Every entry of the registry through the battery.

use seaway_control::Setting;
use seaway_control::registry::{CONTROLLERS, build};
use seaway_testkit::battery::{self, Excuses};
use seaway_units::{DataSize, Ecn};

/// Options that make another controller of an entry.
const VARIANTS: &[&str] = &[
    "fixed(rate=2 Mbit/s)",
    "tfrc(profile=ns2)",
    "tfrc(profile=rfc3448, discriminate=zbs)",
    "tfrc(count=3, loss=sender)",
    "multfrc(discriminate=oracle)",
    "ctfrc(discriminate=oracle)",
    "tfrc(equation=simple, segment=per-packet)",
    "tfrc(sp=on, t_rto=coarse)",
    "multfrc(form=iimd, loss=sender)",
    "multfrc(form=lerd, discriminate=biaz)",
    "multfrc(form=weighted, n=2.5)",
    "ctfrc(form=aio, rtt_min=average)",
    "utfrc(most=10, advance=60 s, profile=rfc3448)",
    "vtp(discriminate=zbs, memory=0)",
    "lda(interval=100 ms, train=0, decrease=10)",
    "lda-plus(interval=1 s, increase=1 Mbit/s, train=20)",
    "srtp(interval=1 s, up=1, down=1, dead=0)",
    "buffer-type1(gamma=adverse, dynamic=on, packet_time=5 ms)",
    "nada(side=sender, ploss_clock=packet)",
    "nada(variant=draft)",
    "gcc(variant=draft)",
    "gcc(loss=2024, probing=off)",
    "gcc(variant=draft, kalman=literal)",
    "scream(version=1)",
    "scream(competing=on, policer=on)",
    "scream(loss_filter=off)",
];

#[test]
fn every_controller_stands_the_battery() {
    let names = CONTROLLERS.iter().map(|info| info.name).chain(VARIANTS.iter().copied());
    for name in names {
        let setting = Setting { packet: DataSize::from_bytes(1000), ecn: Ecn::Ect1 };
        let spec = name.parse().unwrap();
        let excuses = Excuses { deaf: name.starts_with("fixed") };
        battery::run(name, excuses, || build(&spec, setting).unwrap());
    }
}
