//! All rows.

use crate::experiment::{Experiment, Paper};
use crate::{s000, s001, s002, s003, s004};
use seaway_control::nearest;

const PAPERS: [Paper; 5] = [s000::PAPER, s001::PAPER, s002::PAPER, s003::PAPER, s004::PAPER];

/// The papers, in order.
pub fn papers() -> &'static [Paper] {
    &PAPERS
}

/// Every table and figure, paper by paper.
pub fn catalogue() -> impl Iterator<Item = &'static Experiment> + Clone {
    PAPERS.iter().flat_map(|paper| paper.rows)
}

/// The row called `id`, whatever its case.
pub fn find(id: &str) -> Option<&'static Experiment> {
    catalogue().find(|experiment| experiment.id.eq_ignore_ascii_case(id))
}

/// The paper called `id`, whatever its case.
pub fn of_paper(id: &str) -> Option<&'static Paper> {
    PAPERS.iter().find(|paper| paper.id.eq_ignore_ascii_case(id))
}

/// The rows called `ids` and those of `of`, or `all`: in the order of the papers, each once.
///
/// # Errors
/// A name that there is not, with the nearest ones.
pub fn select(ids: &[String], of: &[String], all: bool) -> Result<Vec<&'static Experiment>, String> {
    if let Some(id) = ids.iter().find(|id| find(id).is_none()) {
        let advice = nearest(&id.to_uppercase(), catalogue().map(|experiment| experiment.id));
        return Err(format!("{id}: no table or figure of that name; {advice}"));
    }
    if let Some(id) = of.iter().find(|id| of_paper(id).is_none()) {
        let advice = nearest(&id.to_uppercase(), papers().iter().map(|paper| paper.id));
        return Err(format!("{id}: no paper of that name; {advice}"));
    }
    let is_asked = |experiment: &&Experiment| {
        all || ids.iter().any(|id| id.eq_ignore_ascii_case(experiment.id))
            || of.iter().any(|paper| paper.eq_ignore_ascii_case(experiment.paper()))
    };
    Ok(catalogue().filter(is_asked).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Kind;
    use std::collections::BTreeSet;

    #[test]
    fn every_row_of_the_papers_is_there_once() {
        let ids: BTreeSet<&str> = catalogue().map(|row| row.id).collect();
        let proofs = catalogue().filter(|row| row.id.contains("-I")).count();
        assert_eq!((ids.len(), catalogue().count() - proofs), (62 + proofs, 62));
        for paper in papers() {
            assert!(paper.rows.iter().all(|row| row.paper() == paper.id), "{}", paper.id);
        }
        // The papers' own tables and figures; our proofs are beside them.
        let of = |paper: &Paper| paper.rows.iter().filter(|row| !row.id.contains("-I")).count();
        assert_eq!(papers().iter().map(of).collect::<Vec<_>>(), [18, 8, 10, 13, 13]);
    }

    #[test]
    fn eighteen_rows_are_no_measurement_nor_a_proof_of_ours() {
        let apart = |row: &&Experiment| row.kind != Kind::Measured && !row.id.contains("-I");
        assert_eq!(catalogue().filter(apart).count(), 18);
    }

    #[test]
    fn every_row_with_numbers_has_a_wrong_model_and_every_limit_is_a_proof() {
        for row in catalogue() {
            let has_numbers = matches!(row.method, crate::Method::Run(_));
            let is_opposed = !matches!(row.opposite, crate::Opposite::None);
            assert_eq!(has_numbers, is_opposed, "{}", row.id);
            let proof = row.limited_by.and_then(find);
            assert_eq!(
                row.limited_by.is_some(),
                proof.is_some_and(|row| row.kind == Kind::Identity),
                "{}",
                row.id
            );
        }
    }

    /// A Reading's keys have its values in the scenarios as they stand, so that no row starts from another set.
    #[test]
    fn the_scenarios_have_the_values_that_the_readings_name() {
        for key in papers().iter().flat_map(|paper| paper.readings).flat_map(|reading| reading.keys) {
            let entry = seaway_lab::library::find(key.scenario).unwrap();
            let change = format!("{}={}", key.path, key.value).parse().unwrap();
            let text = |changes: &[_]| format!("{:?}", entry.parse(changes).unwrap());
            assert_eq!(text(&[]), text(&[change]), "{}: {}", key.scenario, key.path);
        }
    }

    #[test]
    fn rows_are_found_whatever_their_case() {
        assert_eq!(find("s001-f5b").map(|row| row.id), Some("S001-F5b"));
        assert!(find("S001-F9").is_none());
        assert_eq!(of_paper("s002").map(|paper| paper.rows.len()), Some(11));
    }
}
