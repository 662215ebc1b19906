//! Opinion scores read off a metric. A habit of the field, not a model of people: it says which class a paper
//! would name.

use seaway_units::Decibels;

/// Classes of the five-grade scale of ITU-R BT.500.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Opinion {
    /// 1
    Bad = 1,
    /// 2
    Poor,
    /// 3
    Fair,
    /// 4
    Good,
    /// 5
    Excellent,
}

impl Opinion {
    /// The grade, 1 to 5.
    pub const fn grade(self) -> u8 {
        self as u8
    }

    /// The class of a PSNR: from 37, 31, 25, 20 dB up, the map EvalVid prints.
    pub fn of_psnr(psnr: Decibels) -> Self {
        match psnr.get() {
            37.0.. => Self::Excellent,
            31.0.. => Self::Good,
            25.0.. => Self::Fair,
            20.0.. => Self::Poor,
            _ => Self::Bad,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders() {
        let grades =
            [36.99, 37.0, 31.0, 25.0, 20.0, 19.9].map(|psnr| Opinion::of_psnr(Decibels::new(psnr)).grade());
        assert_eq!(grades, [4, 5, 4, 3, 2, 1]);
        assert_eq!(Opinion::of_psnr(Decibels::new(f64::NAN)), Opinion::Bad);
    }
}
