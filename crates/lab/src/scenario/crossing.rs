//! Flows that cross a cell: a WiMAX cell needs a connection for each, an 802.11 cell its priority.

use crate::scenario::cell::{Cell, CellKind, refusal};
use crate::scenario::document::{Document, at};
use crate::scenario::error::ScenarioError;
use crate::scenario::flow::Flow;
use crate::scenario::link::Link;
use crate::scenario::routing::{Hop, RoutingGraph};
use crate::tag::Tag;
use seaway_sim::wimax::{Connection, Service};

/// Writes into the cells the services and access categories of the flows that cross them.
pub(crate) fn connect(
    document: &Document<'_>,
    cells: &mut [(usize, Cell)],
    links: &[Link],
    flows: &[(usize, Flow)],
) -> Result<(), ScenarioError> {
    let known: Vec<Cell> = cells.iter().map(|(_, cell)| cell.clone()).collect();
    let network = RoutingGraph::new(links, &known);
    for (number, (table, flow)) in flows.iter().enumerate() {
        let (mut has_service, mut has_access) = (false, false);
        let routes = [network.route(&flow.from, &flow.to), network.route(&flow.to, &flow.from)];
        // A flow without a route each way is refused later, for that.
        let [Some(forward), Some(reverse)] = routes else { continue };
        for (route, is_reverse) in [(forward, false), (reverse, true)] {
            let tag = Tag { flow: number, is_reverse }.number();
            for hop in route {
                let Hop::Cell { cell, enter, leave } = hop else { continue };
                match &mut cells[cell].1.kind {
                    CellKind::Wimax(plan) => {
                        has_service = true;
                        plan.connections.push(Connection {
                            flow: tag,
                            station: usize::from(enter.0.max(leave.0)) - 1,
                            is_uplink: leave.0 == 0,
                            is_feedback: is_reverse,
                            service: flow.service.unwrap_or(Service::BestEffort),
                        });
                    }
                    CellKind::Wlan(config) if config.standard.is_qos() => {
                        has_access = true;
                        config.categories.extend(flow.access.map(|access| (tag, access)));
                    }
                    CellKind::Wlan(_) | CellKind::Cellular(_) => {}
                }
            }
        }
        for (key, is_given, applies, to) in [
            ("service", flow.service.is_some(), has_service, "[[wimax]] cell"),
            ("access", flow.access.is_some(), has_access, "[[wlan]] of 802.11n or ac"),
        ] {
            if is_given && !applies {
                let message = format!("`{key}` applies only to a flow whose way crosses a {to}");
                return Err(document.error_at(at!["flow", *table, key], message));
            }
        }
    }
    for (index, cell) in cells {
        if let CellKind::Wimax(plan) = &cell.kind {
            plan.check().map_err(|error| refusal(document, "wimax", *index, &error))?;
        }
    }
    Ok(())
}
