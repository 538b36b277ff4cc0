//! The rights that a hook asks for, and those that the user granted.

use super::Capability;

/// The rights of one hook: what it asks for ∩ what was granted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    asked: Vec<Capability>,
    granted: Vec<Capability>,
    effective: Vec<Capability>,
    lacking: Vec<Capability>,
}

/// A right that a hook used without having it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Denial {
    /// The right, as it would be granted.
    pub right: String,
    /// The command that allows it, or the reason that none does.
    pub fix: String,
}

impl Rights {
    /// Computes the rights of a hook from those that it asks for and those that were granted.
    pub fn of(asked: &[Capability], granted: &[Capability]) -> Self {
        let mut rights = Self { asked: asked.to_vec(), granted: granted.to_vec(), ..Self::default() };
        for asked in asked {
            let mut whole = false;
            for part in granted.iter().filter_map(|granted| granted.intersect(asked)) {
                whole |= part == *asked;
                if !rights.effective.contains(&part) {
                    rights.effective.push(part);
                }
            }
            if !whole && !rights.lacking.contains(asked) {
                rights.lacking.push(asked.clone());
            }
        }
        rights
    }

    /// Returns the rights without this one, which the hook cannot have, as if it did not ask for it.
    #[must_use]
    pub fn without(&self, right: &Capability) -> Self {
        let rest = |rights: &[Capability]| -> Vec<Capability> {
            rights.iter().filter(|it| *it != right).cloned().collect()
        };
        Self::of(&rest(&self.asked), &rest(&self.granted))
    }

    /// Returns the rights that it asks for.
    pub fn asked(&self) -> &[Capability] {
        &self.asked
    }

    /// Returns the rights that the user granted, whether asked for or not.
    pub fn granted(&self) -> &[Capability] {
        &self.granted
    }

    /// Returns the rights that it has.
    pub fn effective(&self) -> &[Capability] {
        &self.effective
    }

    /// Returns the rights that it asks for and does not have in full.
    pub fn lacking(&self) -> &[Capability] {
        &self.lacking
    }

    /// Returns true if it has exactly this right.
    pub fn has(&self, right: &Capability) -> bool {
        self.effective.contains(right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_has_what_it_asks_for_and_was_granted_and_nothing_else() {
        let parse =
            |texts: &[&str]| -> Vec<Capability> { texts.iter().map(|it| it.parse().unwrap()).collect() };
        let rights = Rights::of(
            &parse(&["read-write:$REPO", "store", "env:A"]),
            &parse(&["read:$REPO", "read-write:$REPO/out", "env:B", "store", "conversation"]),
        );
        assert_eq!(rights.effective(), parse(&["read:$REPO", "read-write:$REPO/out", "store"]));
        assert_eq!(rights.lacking(), parse(&["read-write:$REPO", "env:A"]));
        assert!(rights.has(&Capability::Store) && !rights.has(&Capability::Conversation));
        let rest = rights.without(&Capability::Store);
        assert!(!rest.has(&Capability::Store) && !rest.asked().contains(&Capability::Store));
        assert_eq!(rest.lacking(), rights.lacking());
    }
}
