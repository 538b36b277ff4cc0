//! Weighs the signs that are near each other.

/// The kind of a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Tells the model to drop its instructions.
    Override,
    /// Asks for the model's instructions.
    Reveal,
    /// Gives the model another role or task.
    Role,
    /// Speaks to a model.
    Address,
    /// Looks like the frame of a conversation.
    Marker,
    /// An image whose address carries data away.
    Image,
    /// Hides something from the user.
    Conceal,
    /// Avoids a question to the user.
    NoQuestion,
    /// Switches a protection off.
    Disable,
    /// Asks for obedience.
    Obey,
    /// Sends or shows secrets.
    Send,
    /// Runs a command or tool.
    Run,
    /// Removes things.
    Destroy,
}

/// The number of kinds.
const KINDS: usize = 13;

/// The words in which signs belong together: a long sentence, or a few short ones.
const NEAR: usize = 60;

impl Kind {
    /// Returns true if a sign of this kind is about the model. Commands and secrets alone are what manuals are made of.
    fn is_about_the_model(self) -> bool {
        matches!(
            self,
            Self::Override | Self::Reveal | Self::Role | Self::Address | Self::Marker | Self::Image
        )
    }

    /// Returns true if honest text that a reader does not see has no sign of this kind.
    fn is_odd_if_hidden(self) -> bool {
        let deeds = [Self::Address, Self::Marker, Self::Image, Self::Send, Self::Run, Self::Destroy];
        !deeds.contains(&self)
    }

    fn what(self) -> &'static str {
        match self {
            Self::Override => "an order to drop instructions",
            Self::Reveal => "an order to show the model's instructions",
            Self::Role => "another role for the model",
            Self::Marker => "a fake frame of a conversation",
            Self::Image => "an image that could carry data away",
            Self::Conceal | Self::NoQuestion => "an order to hide something from you",
            _ => "an order to the model",
        }
    }
}

/// A sign.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sign {
    /// Its kind.
    pub(crate) kind: Kind,
    /// Its weight.
    pub(crate) weight: u8,
    /// The place, in words.
    pub(crate) at: usize,
    /// The place, in bytes.
    pub(crate) offset: usize,
}

/// The reason to mark a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The reason, for the user.
    pub(crate) what: &'static str,
    /// The place in the text.
    pub(crate) offset: usize,
}

/// Returns the first signs that weigh enough together. `hidden` are the parts of the text that a reader does not see.
pub(crate) fn judge(mut signs: Vec<Sign>, hidden: &[(usize, usize)], least: u8) -> Option<Found> {
    signs.sort_by_key(|it| it.at);
    let mut rest = signs.as_slice();
    while let [first, more @ ..] = rest {
        let near = rest.iter().take_while(|it| it.at - first.at <= NEAR);
        let (mut weights, mut best, mut is_odd, mut is_model) = ([0_u8; KINDS], *first, false, false);
        for sign in near {
            if let Some(weight) = weights.get_mut(sign.kind as usize) {
                *weight = sign.weight.max(*weight);
            }
            if (sign.kind as usize) < best.kind as usize {
                best = *sign;
            }
            is_model |= sign.kind.is_about_the_model();
            is_odd |= sign.kind.is_odd_if_hidden() && is_within(hidden, sign.offset);
        }
        let weight = weights.iter().sum::<u8>() + if is_odd { 2 } else { 0 };
        if weight >= least && (is_model || is_odd) {
            return Some(Found { what: best.kind.what(), offset: best.offset });
        }
        rest = more;
    }
    None
}

/// Returns true if an offset is in one of these parts, which are in order.
fn is_within(parts: &[(usize, usize)], offset: usize) -> bool {
    let after = parts.partition_point(|(start, _)| *start <= offset);
    let before = after.checked_sub(1).and_then(|it| parts.get(it));
    before.is_some_and(|(_, end)| offset < *end)
}
