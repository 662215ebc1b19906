//! Waiting for readable interfaces, for other threads and for time, with the resolution of the kernel.
//!
//! Linux has the calls for it that cost least. [`portable`] serves the other systems; its tests run here too.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(not(target_os = "linux"), test))]
mod portable;

#[cfg(target_os = "linux")]
pub(crate) use linux::{Notifier, Waiter};
#[cfg(not(target_os = "linux"))]
pub(crate) use portable::{Notifier, Waiter};

#[cfg(test)]
mod tests {
    use crate::clock::Clock;
    use crate::interface::Interface;
    use crate::socket::Socket;
    use seaway_units::{Ecn, TimeDelta};

    fn socket() -> Socket {
        Socket::bind("127.0.0.1:0".parse().unwrap()).unwrap()
    }

    /// Both ways to wait do the same.
    macro_rules! both {
        ($name:ident, $test:expr) => {
            mod $name {
                use super::*;

                #[cfg(target_os = "linux")]
                #[test]
                fn linux() {
                    use crate::wait::linux::Waiter;
                    $test(Waiter::new().unwrap());
                }

                #[test]
                fn portable() {
                    use crate::wait::portable::Waiter;
                    $test(Waiter::new().unwrap());
                }
            }
        };
    }

    both!(says_which_interface_is_readable, |mut waiter: Waiter| {
        let (mut sender, clock, mut ready) = (socket(), Clock::start(), Vec::new());
        let mut interfaces = [Interface::from(socket()), Interface::from(socket())];
        for readable in [1, 0, 1] {
            let to = interfaces[readable].local_address().unwrap();
            sender.send(to, Ecn::NotEct, &[1]);
            let is_woken = waiter.wait(interfaces.iter(), Some(TimeDelta::from_secs(5)), &mut ready).unwrap();
            assert_eq!((is_woken, ready[readable], ready[1 - readable]), (false, true, false));
            assert!(interfaces[readable].receive(&clock, |_| {}));
        }
    });

    both!(what_is_not_read_stays_readable, |mut waiter: Waiter| {
        let (mut sender, interface, mut ready) = (socket(), Interface::from(socket()), Vec::new());
        sender.send(interface.local_address().unwrap(), Ecn::NotEct, &[1]);
        for _ in 0..3 {
            waiter.wait([&interface].into_iter(), Some(TimeDelta::from_secs(5)), &mut ready).unwrap();
            assert_eq!(ready, [true]);
        }
    });

    both!(a_notifier_wakes_once, |mut waiter: Waiter| {
        let (notifier, mut ready) = (waiter.notifier(), Vec::new());
        // Before the wait, and from another thread during it.
        notifier.notify();
        assert!(waiter.wait([].into_iter(), None, &mut ready).unwrap());
        assert!(!waiter.wait([].into_iter(), Some(TimeDelta::ZERO), &mut ready).unwrap());
        let other = std::thread::spawn(move || notifier.notify());
        assert!(waiter.wait([].into_iter(), Some(TimeDelta::from_secs(5)), &mut ready).unwrap());
        other.join().unwrap();
    });

    both!(time_passes, |mut waiter: Waiter| {
        let (clock, mut ready, span) = (Clock::start(), Vec::new(), TimeDelta::from_micros(1_500));
        let interface = Interface::from(socket());
        let before = clock.now();
        assert!(!waiter.wait([&interface].into_iter(), Some(span), &mut ready).unwrap());
        assert!(clock.now().since(before) >= span, "no earlier than requested");
        assert_eq!(ready, [false]);
        assert!(
            !waiter.wait([&interface].into_iter(), Some(-span), &mut ready).unwrap(),
            "a time that is past"
        );
    });
}
