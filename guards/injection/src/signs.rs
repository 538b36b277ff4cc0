//! Finds the signs of an order to a model, word by word.

mod address;
mod deeds;
mod foreign;
mod orders;

use crate::read::{Words, gap};
use crate::score::{Kind, Sign};

/// Returns the signs of a text in the order of their places.
pub(crate) fn all(words: &Words) -> Vec<Sign> {
    let mut found = Vec::new();
    for at in 0..words.len() {
        let place = Place { words, at };
        let word = words.word(at);
        let signs = if word.is_ascii() {
            [
                place.drops(word),
                address::judge(&place, word),
                place.turns(word),
                deeds::judge(&place, word),
                deeds::hides(&place, word),
                orders::judge(&place, word),
            ]
        } else {
            [None; 6]
        };
        let signs = signs.into_iter().chain([foreign::judge(&place, word)]).flatten();
        found.extend(signs.map(|(kind, weight)| Sign { kind, weight, at, offset: words.offset(at) }));
    }
    found
}

/// A word among the others.
pub(crate) struct Place<'a> {
    words: &'a Words,
    at: usize,
}

impl<'a> Place<'a> {
    /// Returns a word before (negative) or after this one.
    pub(crate) fn word(&self, by: isize) -> &'a str {
        self.at.checked_add_signed(by).map_or("", |at| self.words.word(at))
    }

    /// Returns the place before a word.
    pub(crate) fn gap(&self, by: isize) -> u8 {
        self.at.checked_add_signed(by).map_or(gap::STOP, |at| self.words.gap(at))
    }

    /// Returns the words after this one in its sentence, at most so many.
    pub(crate) fn next(&self, most: usize) -> impl Iterator<Item = &'a str> {
        let words = self.words;
        let places = (self.at + 1..words.len()).take(most);
        places.take_while(move |at| words.gap(*at) & gap::STOP == 0).map(move |at| words.word(at))
    }

    /// Returns true if one of the next words is in a list.
    pub(crate) fn has(&self, most: usize, list: &str) -> bool {
        self.next(most).any(|it| is(it, list))
    }

    /// Returns true if these words follow.
    pub(crate) fn follows(&self, text: &str) -> bool {
        text.split(' ').zip(1..).all(|(expected, by)| self.word(by) == expected)
    }

    /// Returns true if a word of denial is near before this one.
    pub(crate) fn is_denied(&self) -> bool {
        (1..=3).take_while(|by| self.gap(1 - by) & gap::STOP == 0).any(|by| {
            let word = self.word(-by);
            is(word, "not never dont cannot wont shouldnt mustnt without no nobody") || word == "didnt"
        })
    }

    /// Returns true if a verb here is an order: it begins a clause, or follows a word that leads to one.
    pub(crate) fn is_order(&self) -> bool {
        self.gap(0) & gap::CLAUSE != 0
            || is(
                self.word(-1),
                "please and then now must should first also just instead immediately kindly always ai \
                    assistant llm agent",
            )
    }

    /// Finds an order to drop instructions.
    fn drops(&self, word: &str) -> Option<(Kind, u8)> {
        if word == "follow" {
            let is_user = self.has(3, "user users operator operators");
            return (is_user && self.is_denied()).then_some((Kind::Override, 6));
        }
        let forgets = matches!(word, "ignore" | "disregard" | "forget" | "override" | "overrule" | "bypass");
        if !forgets || !self.is_order() || self.is_denied() {
            return None;
        }
        let next: Vec<&str> = self.next(9).collect();
        if starts(&next, "everything above")
            || starts(&next, "everything before")
            || starts(&next, "all of the above")
        {
            return Some((Kind::Override, 6));
        }
        if starts(&next, "what the") && next.iter().skip(2).take(2).any(|it| is(it, "said says wants asked"))
        {
            return Some((Kind::Override, 6));
        }
        if starts(&next, "what you were told") || starts(&next, "the user and") {
            return Some((Kind::Override, 6));
        }
        let mut others = 0;
        let (mut is_earlier, mut is_yours) = (false, false);
        for (at, it) in next.iter().enumerate() {
            if is(
                it,
                "instruction instructions guideline guidelines directive directives directions guidance \
                    prompt prompts programming orders",
            ) {
                let is_named = is_earlier
                    || is_yours
                    || next.iter().skip(at + 1).take(3).any(|it| is(it, "you above before"));
                return is_named.then_some((Kind::Override, 6));
            }
            if is(
                it,
                "rules rule task tasks context constraints restrictions policies policy training safeguards",
            ) {
                if is_yours {
                    return Some((Kind::Override, 6));
                }
                if is_earlier || next.iter().skip(at + 1).take(2).any(|it| *it == "you") {
                    return Some((Kind::Role, 2));
                }
                continue;
            }
            is_yours |= is(it, "your users its their");
            is_earlier |= is(
                it,
                "previous prior earlier above preceding foregoing system safety initial original existing",
            );
            let fills = is(
                it,
                "all any the of your my these those and or other every users given review own last such that",
            );
            if !fills && !is_earlier && !is_yours {
                others += 1;
            }
            if others > 2 {
                return None;
            }
        }
        None
    }

    /// Finds another role or task for the model, or a question for its instructions.
    fn turns(&self, word: &str) -> Option<(Kind, u8)> {
        let sign = match word {
            "reveal" | "print" | "output" | "show" | "repeat" | "answer" | "respond" | "reply"
            | "display" | "disclose" | "leak" => {
                let own = self.next(3).zip(1..).find(|(it, _)| is(it, "your its")).map(|(_, by)| by)?;
                let then = [self.word(own + 1), self.word(own + 2)];
                let is_prompt = is(then[0], "system hidden initial internal secret")
                    && is(then[1], "prompt prompts instructions");
                let is_plain = then[0] == "instructions" && is(word, "reveal disclose leak repeat");
                if (is_prompt || is_plain) && !self.is_denied() { (Kind::Reveal, 4) } else { return None }
            }
            "you"
                if self.follows("are now")
                    && !is(self.word(3), "ready logged able using running connected done in") =>
            {
                (Kind::Obey, 2)
            }
            "from"
                if self.follows("now on you") && is(self.word(4), "will must are should obey act shall") =>
            {
                (Kind::Role, 2)
            }
            "your" | "the"
                if is(self.word(1), "new real actual true")
                    && is(self.word(2), "task goal purpose role instructions instruction job objective") =>
            {
                (Kind::Role, 2)
            }
            "agent" | "ai" | "assistant" | "model"
                if self.follows("without restrictions") || self.follows("without limits") =>
            {
                (Kind::Role, 4)
            }
            "unrestricted" if is(self.word(1), "agent ai assistant model") => (Kind::Role, 4),
            "your"
                if is(self.word(1), "previous prior earlier original")
                    && self.word(2) == "instructions"
                    && is(self.word(3), "are have were") =>
            {
                (Kind::Override, 6)
            }
            "new"
                if self.follows("instructions for")
                    || self.follows("system message")
                    || self.follows("system prompt") =>
            {
                (Kind::Role, 2)
            }
            "instructions"
                if self.has(4, "updated replaced changed superseded")
                    && self.has(2, "have been were are") =>
            {
                (Kind::Role, 2)
            }
            "stop" if self.follows("what you are doing") || self.follows("being") => (Kind::Role, 2),
            "admin" | "developer" | "system" if self.word(1) == "override" => (Kind::Role, 2),
            "obey" | "obeys" => (Kind::Obey, 2),
            "must" if self.word(-1) == "you" && is(self.word(1), "approve report recommend") => {
                (Kind::Obey, 2)
            }
            _ => return None,
        };
        Some(sign)
    }
}

/// Returns true if a word is in a list of words, with spaces between them.
pub(crate) fn is(word: &str, list: &str) -> bool {
    list.split_ascii_whitespace().any(|it| it == word)
}

fn starts(words: &[&str], text: &str) -> bool {
    let mut words = words.iter();
    text.split(' ').all(|expected| words.next().is_some_and(|it| *it == expected))
}
