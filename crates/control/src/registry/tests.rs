//! Names, options and weights.

use super::*;
use crate::options;
use crate::options::OptionTable;
use crate::{LocalSignal, PeriodicFeedback, SentPacket, pair};
use seaway_units::{Bitrate, Timestamp};

const FLOW: FlowConfig = FlowConfig { packet: DataSize::from_bytes(1200), ecn: Ecn::NotEct };

fn build(text: &str) -> Result<ControllerPair, SpecError> {
    Registry::builtin().build(&text.parse().unwrap(), FLOW)
}

fn error(text: &str) -> String {
    build(text).unwrap_err().to_string()
}

#[test]
fn every_name_builds() {
    for info in BUILTIN {
        build(info.name).unwrap();
    }
}

#[test]
fn errors_say_what_would_be_valid() {
    assert_eq!(error("fixt"), "\"fixt\": no such controller; did you mean fixed?");
    assert!(error("zzz").starts_with("\"zzz\": no such controller; there are: fixed"));
    assert_eq!(error("fixed(rat=1 bit/s)"), "\"rat\": fixed has no such option; did you mean rate?");
    assert!(error("fixed(rate=1)").contains("has no unit"));
    assert_eq!(error("TFRC"), "\"TFRC\": no such controller; did you mean tfrc or ctfrc or utfrc?");
    assert_eq!(
        error("buffer_type3"),
        "\"buffer_type3\": no such controller; did you mean buffer-type1 or buffer-type2?"
    );
    assert_eq!(error("fixed(rate=1 bit/s, rate=2 bit/s)"), "\"rate\": given twice");
}

/// An option that would change nothing is a mistake.
#[test]
fn options_that_do_not_apply_are_refused() {
    for (spec, option, to) in [
        ("tfrc(profile=ns2, sp=on)", "sp", "profile=ns2"),
        ("tfrc(sp=on, segment=500 B)", "segment", "sp=on"),
        ("tfrc(equation=simple, clamp=on)", "clamp", "equation=simple"),
        ("tfrc(equation=simple, t_rto=floor)", "t_rto", "equation=simple"),
        ("multfrc(n=4)", "n", "a form other than weighted"),
        ("multfrc(form=lerd, n=4)", "n", "a form other than weighted"),
        ("multfrc(form=weighted, gamma=1)", "gamma", "form=weighted"),
        ("multfrc(form=weighted, loss=receiver)", "loss", "form=weighted"),
        ("scream(version=1, jitter=on)", "jitter", "version=1"),
        ("scream(delay_high=200 ms)", "delay_high", "competing=off"),
        ("gcc(kalman=literal)", "kalman", "variant=current"),
        ("gcc(variant=draft, tolerate=0.1)", "tolerate", "variant=draft"),
        ("nada(variant=draft, side=receiver)", "side", "variant=draft"),
    ] {
        assert_eq!(error(spec), format!("\"{option}\": does not apply to {to}"));
    }
    assert_eq!(
        error("buffer-type2(gamma=adverse)"),
        "\"gamma\": buffer-type2 has no such option; did you mean gamma1 or gamma2?"
    );
}

#[test]
fn feedback_interval_is_set_where_it_is_open() {
    let with_interval = |spec: &str, ms| {
        let interval = TimeDelta::from_millis(ms);
        let spec = Registry::builtin().with_feedback_interval(&spec.parse().unwrap(), interval);
        spec.map(|spec| spec.to_string()).map_err(|error| error.to_string())
    };
    assert_eq!(with_interval("nada(variant=draft)", 50).unwrap(), "nada(variant=draft, feedback=50 ms)");
    let error = with_interval("tfrc", 50).unwrap_err();
    assert_eq!(
        error,
        "\"tfrc\": sets its feedback interval itself; not so: fixed, lda, lda-plus, lda-srtp, nada, gcc, seaway"
    );
    assert!(with_interval("nada", 2000).unwrap_err().contains("out of range; expected 5 ms to 1 s"));
    assert!(with_interval("nada(feedback=30 ms)", 50).unwrap_err().contains("already"));
}

const OF: OptionTable<Bitrate> = options! { |whole: &mut Bitrate, value|
    "of" = "2 Mbit/s", "a rate", "twice its rate": *whole = value.read()?;
};

const HALF: ControllerInfo = ControllerInfo {
    options: &[OF.group],
    ..ControllerInfo::new("half", "a test", |options, _| {
        let whole = options.read(&OF, Bitrate::from_mbps(2))?;
        Ok(pair(Fixed::new(Some(Bitrate::from_bps(whole.as_bps() / 2))), PeriodicFeedback::default()))
    })
};

#[test]
fn an_added_controller_is_built_by_name_with_its_options() {
    let registry = Registry::builtin().with(HALF).unwrap();
    for name in ["half", "tfrc", "a b"] {
        assert!(registry.clone().with(ControllerInfo { name, ..HALF }).is_err(), "{name}");
    }
    let build = |text: &str| registry.build(&text.parse().unwrap(), FLOW);
    let (mut controller, _) = build("half(of=6 Mbit/s)").unwrap();
    let (min, max) = (Bitrate::from_bps(1), Bitrate::from_mbps(100));
    controller.on_signal(Timestamp::ZERO, LocalSignal::Limits { min, start: min, max });
    assert_eq!(controller.target().rate, Bitrate::from_mbps(3));
    let error = build("half(off=6 Mbit/s)").unwrap_err().to_string();
    assert_eq!(error, "\"off\": half has no such option; did you mean of?");
    assert!(
        Registry::builtin().check(&"half".parse().unwrap()).is_err(),
        "the built-in registry is as it was"
    );
}

/// The requirements that the session reads before it builds a controller.
#[test]
fn requirements_are_what_the_controllers_do() {
    let registry = Registry::builtin();
    for (spec, fates, tags, subflows) in [
        ("fixed", true, false, false),
        ("tfrc", false, false, false),
        ("tfrc(loss=sender, count=2)", true, false, true),
        ("tfrc(profile=ns2)", false, true, false),
        ("multfrc", true, true, true),
        ("multfrc(form=lerd)", true, true, false),
        ("ctfrc", true, true, false),
        ("utfrc", true, false, false),
        ("gcc", true, false, false),
    ] {
        let requirements = registry.requirements(&spec.parse().unwrap()).unwrap();
        assert_eq!(
            (requirements.fates, requirements.tags, requirements.subflows),
            (fates, tags, subflows),
            "{spec}"
        );
        let (mut controller, _) = build(spec).unwrap();
        let packet = SentPacket::new(0, FLOW.packet);
        assert_eq!(controller.marking(Timestamp::ZERO, &packet).tag.is_some(), tags, "{spec}");
    }
}

/// Where the documented default is a value, giving it changes nothing.
#[test]
fn documented_defaults_hold() {
    for info in BUILTIN {
        let plain = format!("{:?}", build(info.name).unwrap());
        for option in info.options.iter().flat_map(|group| group.options) {
            let options = vec![(option.name.to_owned(), option.default.to_owned())];
            let spec = ControlSpec { name: info.name.to_owned(), options };
            if let Ok(given) = Registry::builtin().build(&spec, FLOW) {
                assert_eq!(format!("{given:?}"), plain, "{}: {}", info.name, option.name);
            }
        }
    }
}

#[test]
fn a_factory_makes_a_controller_with_what_it_captured() {
    let rate = Bitrate::from_kbps(700);
    let factory: Factory =
        Arc::new(move |_, _| Ok(pair(crate::Fixed::new(Some(rate)), PeriodicFeedback::default())));
    let info = ControllerInfo::new("captured", "a test", |_, _| unreachable!("the factory makes it"));
    let registry = Registry::builtin().with_factory(info, factory.clone()).unwrap();
    let (mut sender, _) = registry.build(&"captured".parse().unwrap(), FLOW).unwrap();
    let (min, max) = (Bitrate::from_kbps(100), Bitrate::from_mbps(1));
    sender.on_signal(Timestamp::ZERO, LocalSignal::Limits { min, start: min, max });
    assert_eq!(sender.target().rate, rate);
    assert!(registry.with_factory(info, factory).unwrap_err().to_string().contains("already"));
}
