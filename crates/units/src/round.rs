//! To the nearest integer, halves away from zero: `f64::round` is a call where the processor has no instruction for it
//! that may be counted on.

/// Below zero and not-a-number become zero; too large a value the largest.
pub(crate) const fn to_u64(value: f64) -> u64 {
    let whole = value as u64;
    whole.saturating_add((value - whole as f64 >= 0.5) as u64)
}

/// Not-a-number becomes zero; values out of range the nearest in it.
pub(crate) const fn to_i64(value: f64) -> i64 {
    let whole = value as i64;
    let rest = value - whole as f64;
    whole.saturating_add((rest >= 0.5) as i64 - (rest <= -0.5) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn agree(value: f64) {
        assert_eq!(to_u64(value), value.round() as u64, "{value}");
        assert_eq!(to_i64(value), value.round() as i64, "{value}");
    }

    #[test]
    fn edges() {
        for value in
            [0.0, 0.5, 1.5, 2.5, 0.499_999_999_999_999_94, 4_503_599_627_370_495.5, 1e300, f64::INFINITY]
        {
            agree(value);
            agree(-value);
        }
        agree(f64::NAN);
    }

    proptest! {
        #[test]
        fn as_the_library_does(value in any::<f64>(), near in -1e6..1e6f64) {
            agree(value);
            agree(near);
            agree((near * 2.0).round() / 2.0);
        }
    }
}
