//! Every entry of the registry through the battery.

use seaway_testkit::battery::{self, Excuses};
use seaway_testkit::{build, variants};
use seaway_units::{DataSize, Ecn};

#[test]
fn every_controller_stands_the_battery() {
    for name in variants::all() {
        let excuses = Excuses { deaf: name.starts_with("fixed") };
        battery::run(name, excuses, || build(name, DataSize::from_bytes(1000), Ecn::Ect1));
    }
}
