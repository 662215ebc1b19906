//! Every entry of the registry through the battery.

use seaway_control::Setting;
use seaway_control::registry::build;
use seaway_testkit::battery::{self, Excuses};
use seaway_testkit::variants;
use seaway_units::{DataSize, Ecn};

#[test]
fn every_controller_stands_the_battery() {
    for name in variants::all() {
        let setting = Setting { packet: DataSize::from_bytes(1000), ecn: Ecn::Ect1 };
        let spec = name.parse().unwrap();
        let excuses = Excuses { deaf: name.starts_with("fixed") };
        battery::run(name, excuses, || build(&spec, setting).unwrap());
    }
}
