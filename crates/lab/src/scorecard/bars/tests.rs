use super::*;
use crate::options::RunOptions;
use crate::scorecard::Setup;
use crate::sweep;
use seaway_control::{ControlSpec, Registry};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

const SUITES: [Suite; 3] = [Suite::Acceptance, Suite::RealLoss, Suite::Traps];

/// A bar that nothing misses says nothing. Each quantity of each row is missed by the controller beside its bar, in one of
/// the row's networks at least.
#[test]
fn every_bar_is_missed_by_a_wrong_controller() {
    let mut doubtful = Vec::new();
    for (suite, row) in
        SUITES.into_iter().flat_map(|suite| rows(suite).into_iter().map(move |row| (suite, row)))
    {
        let mut open: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (network, bar) in row.networks.iter().flat_map(|one| one.bars.iter().map(move |bar| (one, bar))) {
            let label = bar.quantity.label();
            let tries = open.entry(label).or_default();
            if tries.iter().any(String::is_empty) {
                continue;
            }
            let reached = |control: &str| reached(network, bar.quantity, control);
            let value = reached(bar.wrong);
            let is_missed = !bar.holds(value, &reached);
            tries.push(if is_missed { String::new() } else { format!("{} {bar}: {value:?}", network.name) });
        }
        open.retain(|_, tries| !tries.iter().any(String::is_empty));
        doubtful.extend(
            open.into_iter().map(|(label, tries)| format!("{suite} {} {label}: {tries:?}", row.name)),
        );
    }
    assert!(doubtful.is_empty(), "{}", doubtful.join("\n"));
}

fn reached(network: &Network, quantity: Quantity, control: &str) -> Option<f64> {
    let mut scenario = network.scenario(&Registry::builtin()).unwrap();
    scenario.control_all(&control.parse().unwrap()).unwrap();
    let outcomes =
        sweep(std::slice::from_ref(&scenario), RunOptions::default(), &|_| ControlFlow::Continue(()));
    quantity.of(&scenario, &outcomes.unwrap()[0].summary)
}

#[test]
fn every_network_can_be_built_and_has_a_name_and_bars() {
    let seaway: ControlSpec = Registry::DEFAULT.parse().unwrap();
    let setup = Setup::new(&Registry::builtin(), Some(vec![seaway]), &SUITES, 1, 1).unwrap();
    assert_eq!(setup.left_out(), []);
    for suite in SUITES {
        let rows = rows(suite);
        let names: BTreeSet<_> =
            rows.iter().flat_map(|row| row.networks.iter().map(|one| (row.name, &one.name))).collect();
        assert_eq!(names.len(), rows.iter().map(|row| row.networks.len()).sum::<usize>(), "{suite}");
        for bar in rows.iter().flat_map(|row| &row.networks).map(|network| &network.bars) {
            assert!(!bar.is_empty());
        }
    }
    assert_eq!(rows(Suite::Acceptance).len(), 13);
}

#[test]
fn a_bar_holds_at_its_bounds_and_not_without_a_number() {
    let bar = Quantity::Utilisation.within(0.6, 1.7, "tfrc");
    let peer = |name: &str| (name == "nada").then_some(2.0);
    for (value, holds) in [(Some(0.6), true), (Some(1.7), true), (Some(0.59), false), (None, false)] {
        assert_eq!(bar.holds(value, &peer), holds, "{value:?}");
    }
    let relative = Quantity::Utilisation.at_least_of("nada", 1.05, "tfrc");
    assert!(relative.holds(Some(2.1), &peer) && !relative.holds(Some(2.09), &peer));
    assert_eq!(relative.to_string(), "≥ 1.05 × nada's");
    // A bar relative to a peer without a number cannot be met.
    assert!(!Quantity::Utilisation.at_least_of("scream", 1.0, "tfrc").holds(Some(9.0), &peer));
}
