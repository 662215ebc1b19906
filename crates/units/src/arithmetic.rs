//! The arithmetic that quantities share. It saturates: unsigned quantities do not fall below zero.

macro_rules! arithmetic {
    ($quantity:ident($number:ty)) => {
        impl std::ops::Add for $quantity {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl std::ops::AddAssign for $quantity {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl std::ops::Sub for $quantity {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl std::ops::SubAssign for $quantity {
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }

        impl std::ops::Mul<$number> for $quantity {
            type Output = Self;
            fn mul(self, factor: $number) -> Self {
                Self(self.0.saturating_mul(factor))
            }
        }

        impl std::iter::Sum for $quantity {
            fn sum<I: Iterator<Item = Self>>(quantities: I) -> Self {
                quantities.fold(Self::ZERO, std::ops::Add::add)
            }
        }
    };
}
