//! Recipes: named tasks, for the command line and for a hook's callback.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use hookbox::escape;

/// The largest recipe, in bytes: it is a message.
const MAX_BYTES: u64 = 64 << 10;

/// The number of recipes, and of plugins, that are read in one directory.
const MAX_ENTRIES: usize = 256;

/// A recipe that is part of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builtin {
    /// Puts a summary in the place of the conversation.
    Compact,
    /// Goes on in a fresh conversation, with a handoff.
    Rotate,
}

/// The steps of a recipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Steps {
    /// A built-in task of the agent.
    Builtin(Builtin),
    /// A message to the model, with `{name}` for an argument.
    Message(String),
}

/// A recipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// The description.
    pub description: String,
    /// The file; absent for a built-in one.
    pub path: Option<PathBuf>,
    /// The steps.
    pub steps: Steps,
}

/// The recipes of the agent, by name.
#[derive(Clone, Debug)]
pub struct Recipes {
    by_name: BTreeMap<String, Recipe>,
    problems: Vec<String>,
}

impl Default for Recipes {
    fn default() -> Self {
        let builtin = |builtin, description: &str| Recipe {
            description: description.to_owned(),
            path: None,
            steps: Steps::Builtin(builtin),
        };
        let by_name = BTreeMap::from([
            (
                "compact".to_owned(),
                builtin(Builtin::Compact, "Puts a summary in the place of the conversation."),
            ),
            (
                "rotate".to_owned(),
                builtin(Builtin::Rotate, "Goes on in a fresh conversation, with a handoff."),
            ),
        ]);
        Self { by_name, problems: Vec::new() }
    }
}

impl Recipes {
    /// Finds the built-in recipes, and the files `*.md` of `recipes/` in the work directory, of
    /// `<root>/recipes/` and `<root>/plugins/<org>@<repo>/recipes/` in the repository, and of the same in the
    /// home directory. The first of a name counts; built-in names are reserved, because hooks ask for them.
    pub fn find(work: &Path, repository: Option<&Path>, home: Option<&Path>, roots: &[&str]) -> Self {
        let mut recipes = Self::default();
        recipes.look_in(work, "recipes", "");
        for base in [repository, home].into_iter().flatten() {
            for root in roots {
                recipes.look_in(base, &format!("{root}/recipes"), "");
            }
            for root in roots {
                let plugins = format!("{root}/plugins");
                for plugin in names(base, &plugins).unwrap_or_default() {
                    if let Some((org, repo)) = plugin.split_once('@') {
                        let prefix = format!("{org}/{repo}/");
                        recipes.look_in(base, &format!("{plugins}/{plugin}/recipes"), &prefix);
                    }
                }
            }
        }
        recipes
    }

    /// The recipe of this name.
    pub fn get(&self, name: &str) -> Option<&Recipe> {
        self.by_name.get(name)
    }

    /// Returns the recipe of this name.
    ///
    /// # Errors
    ///
    /// If there is no such recipe; the error lists the names.
    pub fn expect(&self, name: &str) -> Result<&Recipe> {
        self.get(name).ok_or_else(|| {
            let known: Vec<String> = self.by_name.keys().map(|name| escape(name, 100)).collect();
            anyhow!("expected the name of a recipe ({}), found {:?}", known.join(", "), escape(name, 100))
        })
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Recipe)> {
        self.by_name.iter().map(|(name, recipe)| (name.as_str(), recipe))
    }

    /// Returns the files that look like recipes and are not.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Takes the recipes of one directory. Nothing there leads out of `base`.
    fn look_in(&mut self, base: &Path, directory: &str, prefix: &str) {
        let Some(files) = names(base, directory) else { return };
        for file in files {
            let Some(stem) = file.strip_suffix(".md") else { continue };
            let below = format!("{directory}/{file}");
            let path = base.join(&below);
            let shown = escape(&path.to_string_lossy(), 4096);
            let text = match read(base, &below) {
                Ok(text) => text,
                Err(why) => {
                    self.problems.push(format!("{shown}: is not a recipe: {why}"));
                    continue;
                }
            };
            let parsed = parse(&text);
            let name = format!("{prefix}{}", parsed.name.unwrap_or(stem));
            match self.by_name.get(&name) {
                Some(Recipe { steps: Steps::Builtin(_), .. }) => {
                    let name = escape(&name, 100);
                    self.problems.push(format!("{shown}: is not used: {name} is built in"));
                }
                Some(_) => {}
                None => {
                    let description = parsed.description.unwrap_or_default().to_owned();
                    let steps = Steps::Message(parsed.text.to_owned());
                    self.by_name.insert(name, Recipe { description, path: Some(path), steps });
                }
            }
        }
    }
}

/// Returns the names in a directory below `base`, sorted; `None` if the directory does not exist.
fn names(base: &Path, directory: &str) -> Option<Vec<String>> {
    let base = Dir::open_ambient_dir(base, ambient_authority()).ok()?;
    let entries = base.read_dir(directory).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.take(MAX_ENTRIES).collect();
    names.sort();
    Some(names)
}

fn read(base: &Path, file: &str) -> Result<String, String> {
    let wrong = |error: std::io::Error| escape(&error.to_string(), 200);
    let base = Dir::open_ambient_dir(base, ambient_authority()).map_err(wrong)?;
    // A pipe is not opened: it would be waited for.
    if !base.metadata(file).map_err(wrong)?.is_file() {
        return Err("expected a file".to_owned());
    }
    let mut text = String::new();
    base.open(file).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text)).map_err(wrong)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(format!("it has more than {MAX_BYTES} bytes"));
    }
    Ok(text)
}

struct Parsed<'t> {
    name: Option<&'t str>,
    description: Option<&'t str>,
    text: &'t str,
}

/// Reads a recipe: lines `name: …` and `description: …` between two lines `---`, then the text. Other keys
/// are for other agents.
fn parse(text: &str) -> Parsed<'_> {
    let whole = Parsed { name: None, description: None, text: text.trim() };
    let Some(rest) = text.strip_prefix("---\n") else { return whole };
    let Some((matter, body)) = rest.split_once("\n---\n") else { return whole };
    let value = |wanted: &str| {
        let mut pairs = matter.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = pairs.find(|(key, _)| *key == wanted)?;
        let value = value.trim().trim_matches('"');
        (!value.is_empty()).then_some(value)
    };
    Parsed { name: value("name"), description: value("description"), text: body.trim() }
}

/// Replaces each `{name}` by its argument, once, and returns the names of unused arguments. Braces around
/// anything else are text.
pub(crate) fn fill(text: &str, args: &[(String, String)]) -> (String, Vec<String>) {
    let mut filled = String::with_capacity(text.len());
    let mut used = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let named = after.split_once('}').and_then(|(name, after)| {
            let (name, value) = args.iter().find(|(it, _)| it == name)?;
            Some((name, value, after))
        });
        rest = match named {
            Some((name, value, after)) => {
                filled.push_str(value);
                used.push(name);
                after
            }
            None => {
                filled.push('{');
                after
            }
        };
    }
    filled.push_str(rest);
    let unused = args.iter().map(|(name, _)| name).filter(|name| !used.contains(name));
    (filled, unused.cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_argument_is_put_where_its_name_stands_in_braces() {
        let args = [("target".to_owned(), "{who}".to_owned()), ("who".to_owned(), "me".to_owned())];
        for (text, want, unused) in [
            ("Review {target} for {who}.", "Review {who} for me.", vec![]),
            ("{who}{who}", "meme", vec!["target"]),
            ("fn main() {} {other} {", "fn main() {} {other} {", vec!["target", "who"]),
            ("{{who}}", "{me}", vec!["target"]),
        ] {
            assert_eq!(fill(text, &args), (want.to_owned(), unused.into_iter().map(str::to_owned).collect()));
        }
    }

    #[test]
    fn the_front_matter_names_and_describes_a_recipe() {
        for (text, name, description, body) in [
            (
                "---\nname: review\ndescription: \"Looks: closely.\"\nmodel: x\n---\nDo it.\n",
                Some("review"),
                Some("Looks: closely."),
                "Do it.",
            ),
            ("Just text.", None, None, "Just text."),
            ("---\nname:\n---\nDo it.", None, None, "Do it."),
            ("---\nno end", None, None, "---\nno end"),
        ] {
            let parsed = parse(text);
            assert_eq!((parsed.name, parsed.description, parsed.text), (name, description, body), "{text}");
        }
    }

    #[test]
    fn the_nearest_recipe_of_a_name_is_used_and_no_file_takes_a_built_in_name() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("repo/recipes/a.md", "work");
        put("repo/.hookbox/recipes/a.md", "root");
        put("repo/.hookbox/recipes/b.md", "root");
        put("home/.kodelet/recipes/b.md", "home");
        put("home/.kodelet/recipes/c.md", "home");
        put("home/.hookbox/plugins/org@tools/recipes/d.md", "plugin");
        put("repo/recipes/compact.md", "Send me everything.");
        put("repo/recipes/large.md", &"x".repeat(70_000));
        put("secret.md", "secret");
        std::os::unix::fs::symlink("../../secret.md", dir.path().join("repo/recipes/out.md")).unwrap();
        fs::create_dir(dir.path().join("repo/recipes/folder.md")).unwrap();

        let at = |path: &str| dir.path().join(path);
        let (repo, home) = (at("repo"), at("home"));
        let recipes = Recipes::find(&repo, Some(&repo), Some(&home), &[".hookbox", ".kodelet"]);
        let text = |name: &str| match &recipes.get(name).unwrap().steps {
            Steps::Message(text) => text.clone(),
            Steps::Builtin(builtin) => format!("{builtin:?}"),
        };
        for (name, want) in
            [("a", "work"), ("b", "root"), ("c", "home"), ("org/tools/d", "plugin"), ("compact", "Compact")]
        {
            assert_eq!(text(name), want);
        }
        assert_eq!(recipes.iter().count(), 6);
        let problems = recipes.problems().join("\n");
        for what in [
            "compact is built in",
            "more than 65536 bytes",
            "out.md",
            "folder.md: is not a recipe: expected a file",
        ] {
            assert!(problems.contains(what), "{what}: {problems}");
        }
        assert!(!problems.contains("secret"), "{problems}");
    }
}
