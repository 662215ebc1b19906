//! How far packets overtake one another: the reordering window of RFC 8985 section 6.2.

use seaway_units::TimeDelta;

/// How long a packet that later ones overtook may still come. It is zero until one came that had been taken for lost; then it is
/// what that one would have needed, and a quarter more. Each loss narrows it by a part, so that wrong losses stay few
/// beside true ones, and where nothing is lost it stays: there it costs nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReorderingWindow {
    width: TimeDelta,
}

impl ReorderingWindow {
    const MARGIN: f64 = 1.25;
    /// Fourteen losses take the margin, as the window of RFC 8985 lasts for sixteen recoveries.
    const NARROWED: f64 = 1.0 - 1.0 / 64.0;
    /// A packet that comes later than this was held back, not overtaken. From here 400 losses narrow the window to nothing, so that a
    /// forged delay is forgotten.
    const MOST: TimeDelta = TimeDelta::from_millis(500);
    /// What is narrower is none.
    const LEAST: TimeDelta = TimeDelta::from_millis(1);

    /// How wide it is, `most` at most.
    #[inline]
    pub(crate) fn width(&self, most: TimeDelta) -> TimeDelta {
        self.width.min(most)
    }

    /// A packet was taken for lost and came: it was only overtaken, by this much.
    pub(crate) fn on_overtaken(&mut self, by: TimeDelta) {
        self.width = self.width.max(by.mul_f64(Self::MARGIN).min(Self::MOST));
    }

    /// A packet is taken for lost.
    #[inline]
    pub(crate) fn on_loss(&mut self) {
        let width = self.width.mul_f64(Self::NARROWED);
        self.width = if width < Self::LEAST { TimeDelta::ZERO } else { width };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_at_once_and_losses_narrow_it() {
        let (ms, most) = (TimeDelta::from_millis, TimeDelta::from_millis(100));
        let mut window = ReorderingWindow::default();
        assert_eq!(window.width(most), TimeDelta::ZERO);
        window.on_overtaken(ms(40));
        assert_eq!(window.width(most), ms(50));
        window.on_overtaken(ms(-10));
        assert_eq!(window.width(most), ms(50), "what is wide enough stays");
        (0..14).for_each(|_| window.on_loss());
        assert!((39.9..40.2).contains(&window.width(most).as_millis_f64()), "{:?}", window.width(most));
        window.on_overtaken(ms(3_600_000));
        assert_eq!(window.width(most), most, "bounded");
        (0..460).for_each(|_| window.on_loss());
        assert_eq!(window.width(most), TimeDelta::ZERO);
    }
}
