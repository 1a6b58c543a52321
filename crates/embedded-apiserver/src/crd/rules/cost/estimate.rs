//! The estimate of a value: its type, its position in the object and its size.

use crate::crd::rules::bounds::{Bounds, Kind};

/// The cost of reading a character.
pub(super) const CHARACTER: f64 = 0.1;

/// A range of sizes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) least: u64,
    pub(super) most: u64,
}

impl Size {
    pub(super) const UNKNOWN: Self = Self {
        least: 0,
        most: u64::MAX,
    };

    pub(super) const fn exactly(size: u64) -> Self {
        Self {
            least: size,
            most: size,
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            least: self.least.saturating_add(other.least),
            most: self.most.saturating_add(other.most),
        }
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self {
            least: self.least.saturating_mul(other.least),
            most: self.most.saturating_mul(other.most),
        }
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
    }
}

/// Returns the cost of a number of units, rounded up.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the estimate is made in floats, and a cast to an integer ends at its bounds"
)]
pub(super) fn by_factor(units: u64, factor: f64) -> u64 {
    (units as f64 * factor).ceil() as u64
}

/// The position of a value in the object, if it determines the size.
#[derive(Clone, Copy, Debug)]
pub(super) enum Position<'a> {
    /// The value is a result and has no position.
    None,
    /// The value is in the object, but its bounds are unknown.
    Unknown,
    At(&'a Bounds),
}

/// The known type of the values of an expression.
#[derive(Clone, Copy, Debug)]
pub(super) struct Type<'a> {
    pub(super) kind: Kind,
    /// The bounds of the values, if the schema contains them.
    pub(super) bounds: Option<&'a Bounds>,
    /// The type of the items of a list that the rule creates, or of the value of an optional.
    pub(super) items: Kind,
    pub(super) item_bounds: Option<&'a Bounds>,
}

impl<'a> Type<'a> {
    pub(super) const fn from_kind(kind: Kind) -> Self {
        Self {
            kind,
            bounds: None,
            items: Kind::Dyn,
            item_bounds: None,
        }
    }

    pub(super) fn at(bounds: &'a Bounds) -> Self {
        Self {
            bounds: Some(bounds),
            ..Self::from_kind(bounds.kind)
        }
    }

    /// Returns the type of a list or optional with values of a type.
    pub(super) fn holding(kind: Kind, items: Self) -> Self {
        Self {
            items: items.kind,
            item_bounds: items.bounds,
            ..Self::from_kind(kind)
        }
    }

    /// Returns the type of the items of a list or the values of a map.
    pub(super) fn element(self) -> Self {
        match self.bounds.and_then(|bounds| bounds.element.as_deref()) {
            Some(element) => Self::at(element),
            None => self.element_type(),
        }
    }

    /// Returns the type of the values in a list or an optional that the rule creates.
    pub(super) fn element_type(self) -> Self {
        match self.item_bounds {
            Some(bounds) => Self::at(bounds),
            None => Self::from_kind(self.items),
        }
    }

    pub(super) fn field(self, name: &str) -> Self {
        let Some(bounds) = self.bounds else {
            return Self::from_kind(Kind::Dyn);
        };
        match bounds.fields.get(name) {
            Some(field) => Self::at(field),
            None if bounds.kind == Kind::Map => self.element(),
            None => Self::from_kind(Kind::Dyn),
        }
    }

    pub(super) fn is_scalar(self) -> bool {
        let scalar = |kind| matches!(kind, Kind::Bool | Kind::Number | Kind::Time);
        scalar(self.kind) || self.kind == Kind::Optional && scalar(self.element_type().kind)
    }
}

/// The estimate of an expression's value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate<'a> {
    pub(super) cost: u64,
    pub(super) of: Type<'a>,
    pub(super) place: Position<'a>,
    pub(super) size: Option<Size>,
    /// The size of the items of a list, or of the values of a map, that the rule creates.
    pub(super) entry: Option<Size>,
}

impl<'a> Estimate<'a> {
    /// Returns the estimate of a result of a type.
    pub(super) fn result(cost: u64, of: Type<'a>) -> Self {
        Self {
            cost,
            of,
            place: Position::None,
            size: of.is_scalar().then_some(Size::exactly(1)),
            entry: None,
        }
    }

    /// Returns the estimate of a value in the object.
    pub(super) fn placed(cost: u64, of: Type<'a>, place: Position<'a>) -> Self {
        let size = match place {
            Position::At(bounds) => Some(Size {
                least: 0,
                most: bounds.most,
            }),
            _ => None,
        };
        let result = Self::result(cost, of);
        Self {
            place,
            size: size.or(result.size),
            ..result
        }
    }

    pub(super) fn sized(self, size: Size) -> Self {
        Self {
            size: Some(size),
            ..self
        }
    }

    pub(super) fn size(&self) -> Size {
        self.size.unwrap_or(Size::UNKNOWN)
    }
}

/// Returns the type of an optional's value, or of a value that is not an optional.
pub(super) fn present<'a>(value: &Estimate<'a>) -> Type<'a> {
    if value.of.kind == Kind::Optional {
        value.of.element_type()
    } else {
        value.of
    }
}

pub(super) fn sum(all: &[Estimate<'_>]) -> u64 {
    all.iter().fold(0, |sum, one| sum.saturating_add(one.cost))
}

pub(super) fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

pub(super) fn union(one: Option<Size>, other: Option<Size>) -> Option<Size> {
    one.zip(other).map(|(one, other)| one.or(other))
}

/// Returns the known kind of two operands of the same kind.
pub(super) fn known(one: &Estimate<'_>, other: &Estimate<'_>) -> Kind {
    if one.of.kind == Kind::Dyn {
        other.of.kind
    } else {
        one.of.kind
    }
}

pub(super) fn compared(one: &Estimate<'_>, other: &Estimate<'_>) -> u64 {
    by_factor(one.size().most.min(other.size().most), CHARACTER)
}

pub(super) fn traversed(text: &Estimate<'_>) -> u64 {
    by_factor(text.size().most, CHARACTER)
}
