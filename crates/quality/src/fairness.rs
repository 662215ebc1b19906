//! How evenly shares are shared (RFC 5166 section 2.3).

/// Jain's index `(Σx)² / (n Σx²)`: 1 where all are equal, `k/n` where k of n share equally and the others get
/// nothing. `None` without shares, or where all are zero.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn worked_numbers() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[1.0, 1.0, 0.0, 0.0]), Some(0.5));
        assert_eq!(jain(&[1.0, 3.0]), Some(0.8));
        assert_eq!(jain(&[]), None);
        assert_eq!(jain(&[0.0]), None);
    }

    proptest! {
        #[test]
        fn lies_between_one_over_n_and_one(shares in prop::collection::vec(0.001_f64..1e9, 1..50)) {
            let index = jain(&shares).unwrap();
            prop_assert!(index <= 1.0 + 1e-12 && index >= 1.0 / shares.len() as f64 - 1e-12);
        }
    }
}
