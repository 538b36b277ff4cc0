//! What to do about a change that was cut short: a table of what was to be done and of what is there. No I/O.

use super::journal::Action;

/// Which directory stands at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Is {
    /// Nothing.
    Nothing,
    /// The one that was staged.
    New,
    /// The one that stood there before the change.
    Old,
    /// Something that the change knows nothing of.
    Other,
}

/// What is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// Under the plugin's name.
    pub(super) name: Is,
    /// In the staging directory, as the plugin to be.
    pub(super) tree: Is,
    /// In the staging directory, as the one that was replaced.
    pub(super) replaced: Is,
}

/// What to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The plugin is as it is to be: the lock file has to say so.
    Forward,
    /// The old one is away, and the new one is not there yet: put it there, then as above.
    Finish,
    /// Nothing has changed: forget it.
    Back,
    /// Both are away, and this is where the old one is: put it back, then forget it.
    Restore(From),
    /// Somebody else has been at work: keep everything, and say so.
    SetAside,
}

/// Where the old one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// In the place of the plugin to be.
    Tree,
    /// Where it is put while a file system cannot exchange two directories.
    Replaced,
}

/// What to do about a change that was cut short.
pub(super) fn decide(action: &Action, seen: Seen) -> Decision {
    match (action, seen) {
        (Action::Install { .. } | Action::Replace { .. }, Seen { name: Is::New, .. }) => Decision::Forward,
        (Action::Install { .. }, Seen { name: Is::Nothing, .. }) => Decision::Back,
        (Action::Replace { .. } | Action::Remove { .. }, Seen { name: Is::Old, .. }) => Decision::Back,
        (Action::Replace { .. }, Seen { name: Is::Nothing, tree: Is::New, .. }) => Decision::Finish,
        (Action::Replace { .. }, Seen { name: Is::Nothing, tree: Is::Old, .. }) => {
            Decision::Restore(From::Tree)
        }
        (Action::Replace { .. }, Seen { name: Is::Nothing, replaced: Is::Old, .. }) => {
            Decision::Restore(From::Replaced)
        }
        (Action::Replace { .. }, Seen { name: Is::Nothing, .. }) => Decision::Back,
        (Action::Remove { .. }, Seen { name: Is::Nothing, .. }) => Decision::Forward,
        (_, Seen { name: Is::Other | Is::Old | Is::New, .. }) => Decision::SetAside,
    }
}

/// How to undo a change that failed, whatever is there. The first move that applies.
pub(super) fn undo(action: &Action, seen: Seen) -> Undo {
    match (action, seen) {
        (Action::Install { .. }, Seen { name: Is::New, tree: Is::Nothing, .. }) => Undo::Withdraw,
        (Action::Install { .. }, Seen { tree: Is::New, .. }) => Undo::Nothing,
        (Action::Replace { .. } | Action::Remove { .. }, Seen { name: Is::Old, .. }) => Undo::Nothing,
        (Action::Replace { .. }, Seen { name: Is::New, tree: Is::Old, .. }) => Undo::Exchange,
        (Action::Replace { .. }, Seen { name: Is::New, tree: Is::Nothing, replaced: Is::Old }) => {
            Undo::Withdraw
        }
        // Whatever stands there now, this change has moved nothing.
        (Action::Replace { .. }, Seen { tree: Is::New, replaced: Is::Nothing, .. }) => Undo::Nothing,
        (Action::Remove { .. }, Seen { tree: Is::Nothing, .. }) => Undo::Nothing,
        (_, Seen { name: Is::Nothing, tree: Is::Old, .. }) => Undo::Restore(From::Tree),
        (_, Seen { name: Is::Nothing, replaced: Is::Old, .. }) => Undo::Restore(From::Replaced),
        _ => Undo::Impossible,
    }
}

/// A move that undoes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Undo {
    /// All is as it was.
    Nothing,
    /// Exchange the two once more.
    Exchange,
    /// Take the new one away; there may be an old one to restore after that.
    Withdraw,
    /// Put the old one back.
    Restore(From),
    /// What is there is not what this change left.
    Impossible,
}

#[cfg(test)]
mod tests {
    use super::*;
    use Is::{New, Nothing, Old, Other};
    use hookbox::hook::Digest;
    use hookbox::internal::lockfile::Locked;

    fn actions() -> [Action; 3] {
        let locked = Box::new(Locked {
            name: "a/b".parse().unwrap(),
            source: "/x".to_owned(),
            reference: None,
            commit: None,
            manifest: None,
            tree: Digest::of(b""),
            key: None,
            installed: "2026-01-01T00:00:00Z".to_owned(),
            hooks: Vec::new(),
        });
        [
            Action::Install { new: 1, locked: locked.clone() },
            Action::Replace { new: 1, old: 2, locked },
            Action::Remove { old: 2 },
        ]
    }

    const ALL: [Is; 4] = [Nothing, New, Old, Other];

    #[test]
    fn what_a_kill_leaves_is_taken_forward_or_back() {
        let [install, replace, remove] = actions();
        use Decision::{Back, Finish, Forward, Restore, SetAside};
        for (action, name, tree, replaced, want) in [
            (&install, Nothing, New, Nothing, Back),
            (&install, New, Nothing, Nothing, Forward),
            (&install, Other, New, Nothing, SetAside),
            (&replace, Old, New, Nothing, Back),
            (&replace, New, Old, Nothing, Forward),
            (&replace, Nothing, New, Old, Finish),
            (&replace, New, Nothing, Old, Forward),
            (&replace, Nothing, Nothing, Old, Restore(From::Replaced)),
            (&replace, Nothing, Other, Old, Restore(From::Replaced)),
            (&replace, Nothing, Old, Nothing, Restore(From::Tree)),
            (&replace, Nothing, Nothing, Nothing, Back),
            (&replace, Other, New, Old, SetAside),
            (&replace, Other, Old, Nothing, SetAside),
            (&remove, Old, Nothing, Nothing, Back),
            (&remove, Nothing, Old, Nothing, Forward),
            (&remove, Nothing, Nothing, Nothing, Forward),
            (&remove, Other, Old, Nothing, SetAside),
        ] {
            let seen = Seen { name, tree, replaced };
            assert_eq!(decide(action, seen), want, "{action:?} {seen:?}");
        }
    }

    #[test]
    fn no_decision_writes_over_a_directory_or_loses_the_only_one() {
        for action in actions() {
            for (name, tree, replaced) in
                ALL.iter().flat_map(|a| ALL.iter().flat_map(move |b| ALL.iter().map(move |c| (*a, *b, *c))))
            {
                let seen = Seen { name, tree, replaced };
                match decide(&action, seen) {
                    Decision::Finish => assert!(name == Nothing && tree == New, "{seen:?}"),
                    Decision::Restore(From::Tree) => assert!(name == Nothing && tree == Old, "{seen:?}"),
                    Decision::Restore(From::Replaced) => {
                        assert!(name == Nothing && replaced == Old, "{seen:?}")
                    }
                    Decision::Back => {
                        let is_lost = matches!(action, Action::Replace { .. })
                            && name == Nothing
                            && (matches!(tree, New | Old) || replaced == Old);
                        assert!(!is_lost, "{seen:?}");
                    }
                    Decision::Forward => assert!(!matches!(name, Other | Old), "{seen:?}"),
                    Decision::SetAside => assert!(name != Nothing, "{seen:?}"),
                }
            }
        }
    }

    #[test]
    fn a_change_that_failed_is_undone_from_wherever_it_stopped() {
        let [install, replace, remove] = actions();
        for (action, name, tree, replaced, want) in [
            (&install, Nothing, New, Nothing, Undo::Nothing),
            (&install, New, Nothing, Nothing, Undo::Withdraw),
            (&install, Other, New, Nothing, Undo::Nothing),
            (&install, Other, Nothing, Nothing, Undo::Impossible),
            (&replace, Other, New, Nothing, Undo::Nothing),
            (&replace, Old, New, Nothing, Undo::Nothing),
            (&replace, New, Old, Nothing, Undo::Exchange),
            (&replace, New, Nothing, Old, Undo::Withdraw),
            (&replace, Nothing, New, Old, Undo::Restore(From::Replaced)),
            (&replace, Other, New, Old, Undo::Impossible),
            (&remove, Old, Nothing, Nothing, Undo::Nothing),
            (&remove, Nothing, Old, Nothing, Undo::Restore(From::Tree)),
            (&remove, Other, Nothing, Nothing, Undo::Nothing),
            (&remove, Other, Old, Nothing, Undo::Impossible),
        ] {
            let seen = Seen { name, tree, replaced };
            assert_eq!(undo(action, seen), want, "{action:?} {seen:?}");
        }
    }
}
