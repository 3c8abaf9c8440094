//! A fact that is known, or why it is not: three reasons that must not be taken for one another.

/// Something about a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact<T> {
    /// It is so.
    Known(T),
    /// There is no such thing.
    None,
    /// It was looked for, and the maker does not say.
    Undocumented,
    /// Nobody has looked.
    Unchecked,
}

impl<T> Fact<T> {
    /// The fact, if it is known.
    pub const fn known(&self) -> Option<&T> {
        match self {
            Self::Known(fact) => Some(fact),
            Self::None | Self::Undocumented | Self::Unchecked => None,
        }
    }

    /// Whether it is known.
    pub const fn is_known(&self) -> bool {
        matches!(self, Self::Known(_))
    }

    /// What stands in a table in place of a fact that is not known.
    pub const fn absence(&self) -> Option<&'static str> {
        match self {
            Self::Known(_) => None,
            Self::None => Some("none"),
            Self::Undocumented => Some("undocumented"),
            Self::Unchecked => Some("unchecked"),
        }
    }
}

/// How facts came to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A system that worked with the host did it so.
    Practice,
    /// The host's maker says so.
    Vendor,
    /// Somebody else says so.
    Third,
    /// It was handed down without saying from where.
    Hearsay,
    /// Nobody has looked.
    Nobody,
}
