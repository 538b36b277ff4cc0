//! What a hook asks for and what of it the user has granted.

use super::Capability;

/// The rights of one hook: what it asks for ∩ what was granted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    asked: Vec<Capability>,
    granted: Vec<Capability>,
    effective: Vec<Capability>,
    lacking: Vec<Capability>,
}

/// A right that a hook made use of without having it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Denial {
    /// The right, as it would be granted.
    pub right: String,
    /// What to do about it: the command that allows it, or why none does.
    pub fix: String,
}

impl Rights {
    /// The rights of a hook that asks for these and was granted those.
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

    /// What it asks for.
    pub fn asked(&self) -> &[Capability] {
        &self.asked
    }

    /// What the user granted, whether asked for or not.
    pub fn granted(&self) -> &[Capability] {
        &self.granted
    }

    /// What it has.
    pub fn effective(&self) -> &[Capability] {
        &self.effective
    }

    /// What it asks for and does not have in full.
    pub fn lacking(&self) -> &[Capability] {
        &self.lacking
    }

    /// Whether it has exactly this right.
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
    }
}
