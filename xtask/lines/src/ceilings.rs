//! The ceilings, and how the numbers compare with them.

use toml_edit::{DocumentMut, Value};

use crate::packages::{ALL, Kind, Numbers, grouped};

/// The file with the ceilings.
pub(crate) const FILE: &str = "ceilings.toml";

/// Reads the ceilings.
pub(crate) fn read(document: &DocumentMut) -> Result<Numbers, String> {
    let mut ceilings = Numbers::new();
    for (name, table) in document.iter() {
        let kind = Kind::ALL.into_iter().find(|it| it.name() == name);
        let (Some(kind), Some(table)) = (kind, table.as_table()) else {
            return Err(format!("{FILE} has an unknown table: {name}"));
        };
        for (row, value) in table {
            let number = value.as_integer().and_then(|it| usize::try_from(it).ok());
            let number = number.ok_or_else(|| format!("{row} in [{name}] of {FILE} is not a number"))?;
            ceilings.insert((kind, row.to_owned()), number);
        }
    }
    Ok(ceilings)
}

/// Returns an error for each number above its ceiling, and for each crate without a ceiling for its lines.
///
/// In the other tables, a missing ceiling is 0.
pub(crate) fn errors(numbers: &Numbers, ceilings: &Numbers) -> Vec<String> {
    let mut errors = Vec::new();
    for (key, number) in numbers {
        let (kind, row) = key;
        let ceiling = ceilings.get(key).copied();
        if ceiling.is_none() && *kind == Kind::Lines {
            errors.push(format!(
                "{row} has no ceiling in {FILE}\nhint: add `\"{row}\" = {number}` to its [lines], in a \
                 commit of its own that says why"
            ));
            continue;
        }
        let ceiling = ceiling.unwrap_or_default();
        if *number > ceiling {
            let who = if row == ALL { "the repository" } else { row };
            errors.push(format!(
                "{who} has {}, {} above its ceiling in {FILE}\nhint: remove something, or raise the ceiling in a \
                 commit of its own that says why",
                kind.count(*number),
                grouped(number - ceiling),
            ));
        }
    }
    errors
}

/// Lowers each ceiling above its number, and returns how many are. A crate that is gone has no ceiling.
pub(crate) fn lower(document: &mut DocumentMut, numbers: &Numbers) -> usize {
    let mut lowered = 0;
    for kind in Kind::ALL {
        let Some(table) = document.get_mut(kind.name()).and_then(|it| it.as_table_mut()) else { continue };
        table.retain(|row, value| {
            let number = numbers.get(&(kind, row.to_owned())).copied().unwrap_or_default();
            let (Ok(number), Some(value)) = (i64::try_from(number), value.as_value_mut()) else {
                return true;
            };
            if value.as_integer().is_some_and(|ceiling| number < ceiling) {
                lowered += 1;
                let comment = value.decor().clone();
                *value = Value::from(number);
                *value.decor_mut() = comment;
            }
            number > 0
        });
    }
    lowered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(numbers: &[(Kind, &str, usize)]) -> Numbers {
        numbers.iter().map(|(kind, row, number)| ((*kind, (*row).to_owned()), *number)).collect()
    }

    fn document() -> DocumentMut {
        let text = "# The rule.\n\n[lines]\n# Not much.\nhost = 31179 # all of it\n\"crates/a\" = 10\n\n[circles]\nhost = 2\n";
        text.parse().unwrap()
    }

    #[test]
    fn a_number_above_its_ceiling_is_an_error() {
        let ceilings = read(&document()).unwrap();
        for (kind, row, number, expected) in [
            (Kind::Lines, "host", 31_179, ""),
            (Kind::Lines, "host", 31_178, ""),
            (Kind::Lines, "host", 31_190, "host has 31,190 lines, 11 above its ceiling in ceilings.toml"),
            (Kind::Lines, "crates/b", 5, "crates/b has no ceiling in ceilings.toml"),
            (Kind::Constants, "host", 0, ""),
            (Kind::Constants, "host", 1, "host has 1 numeric constant, 1 above its ceiling in ceilings.toml"),
            (Kind::Circles, "host", 3, "host has 3 circles of modules, 1 above its ceiling in ceilings.toml"),
            (
                Kind::Internal,
                ALL,
                1,
                "the repository has 1 name of hookbox::internal, 1 above its ceiling in ceilings.toml",
            ),
        ] {
            let errors = errors(&numbers(&[(kind, row, number)]), &ceilings);
            let sentences: Vec<&str> = errors.iter().filter_map(|it| it.lines().next()).collect();
            assert_eq!(sentences.join("\n"), expected);
            assert!(errors.iter().all(|it| it.contains("\nhint: ")), "{errors:?}");
        }
    }

    #[test]
    fn lower_numbers_are_written_and_comments_stay() {
        let mut document = document();
        let counts = numbers(&[(Kind::Lines, "host", 30_000), (Kind::Circles, "host", 4)]);
        assert_eq!(lower(&mut document, &counts), 2);
        let expected =
            "# The rule.\n\n[lines]\n# Not much.\nhost = 30000 # all of it\n\n[circles]\nhost = 2\n";
        assert_eq!(document.to_string(), expected);
        assert_eq!(lower(&mut document, &counts), 0);
    }

    #[test]
    fn ceilings_that_are_not_known_are_an_error() {
        for (text, expected) in [
            ("[line]\nhost = 1\n", "ceilings.toml has an unknown table: line"),
            ("lines = 1\n", "ceilings.toml has an unknown table: lines"),
            ("[lines]\nhost = -1\n", "host in [lines] of ceilings.toml is not a number"),
            ("[lines]\nhost = \"1\"\n", "host in [lines] of ceilings.toml is not a number"),
        ] {
            assert_eq!(read(&text.parse().unwrap()).unwrap_err(), expected);
        }
    }
}
