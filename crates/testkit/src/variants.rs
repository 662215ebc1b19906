//! Every controller in every form that is worth a test.

use seaway_control::Registry;

/// Options that make another controller of an entry.
pub const VARIANTS: &[&str] = &[
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
    "lda-srtp(interval=1 s, up=1, down=1, dead=0)",
    "buffer-type1(gamma=adverse, dynamic=on, packet_time=5 ms, rtt=ms)",
    "nada(side=sender, ploss_clock=packet)",
    "nada(variant=draft)",
    "gcc(variant=draft)",
    "gcc(loss=2024, probing=off)",
    "gcc(variant=draft, kalman=literal)",
    "scream(version=1)",
    "scream(competing=on, policer=on)",
    "scream(loss_filter=off)",
];

/// Every entry of the registry as it is, then the [variants](VARIANTS).
pub fn all() -> impl Iterator<Item = &'static str> {
    let names: Vec<_> = Registry::builtin().controllers().iter().map(|info| info.name).collect();
    names.into_iter().chain(VARIANTS.iter().copied())
}
