//! Every example runs, and is as short as the documentation says.

#[path = "../add_controller.rs"]
mod add_controller;
#[path = "../add_experiment.rs"]
mod add_experiment;
#[path = "../add_scenario.rs"]
mod add_scenario;
#[path = "../embed_encoder.rs"]
mod embed_encoder;
#[allow(dead_code, reason = "its main reads the command line")]
#[path = "../udp_receive.rs"]
mod udp_receive;
#[allow(dead_code, reason = "its main reads the command line")]
#[path = "../udp_send.rs"]
mod udp_send;

use seaway_units::TimeDelta;
use std::net::UdpSocket;

#[test]
fn they_run() {
    add_controller::main();
    add_scenario::main();
    add_experiment::main();
    embed_encoder::main();
}

#[test]
fn sent_video_is_received() {
    let address = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let output = std::env::temp_dir().join(format!("seaway-{}.mp4", address.port()));
    let name = output.to_str().unwrap().to_owned();
    let key = Some(seaway_stream::fresh_key().unwrap());
    let of_receiver = key.clone();
    let receiver = std::thread::spawn(move || udp_receive::receive(address, of_receiver, &name).unwrap());
    let captured = udp_send::send(address, key, "test:160x96@25", TimeDelta::from_secs(2)).unwrap();
    let displayed = receiver.join().unwrap();
    assert!(captured > 0 && displayed > 0, "{captured} frames captured, {displayed} displayed");
    assert!(std::fs::metadata(&output).unwrap().len() > 0);
    std::fs::remove_file(output).unwrap();
}

#[test]
fn they_are_short() {
    for (name, text, limit) in [
        ("add_controller.rs", include_str!("../add_controller.rs"), 50),
        ("add_scenario.rs", include_str!("../add_scenario.rs"), 50),
        ("ferry.toml", include_str!("../ferry.toml"), 50),
        // It names what it varies, and a wrong model that misses it.
        ("add_experiment.rs", include_str!("../add_experiment.rs"), 70),
        ("udp_send.rs", include_str!("../udp_send.rs"), 60),
        ("udp_receive.rs", include_str!("../udp_receive.rs"), 60),
        ("embed_encoder.rs", include_str!("../embed_encoder.rs"), 60),
    ] {
        assert!(text.lines().count() < limit, "{name} has {} lines", text.lines().count());
    }
}
