//! The modules of a crate, the paths that each one uses, and where they lead.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Spacing, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::visit::Visit;
use syn::{Expr, ExprLit, File, Item, ItemMod, ItemUse, Lit, Meta, MetaNameValue, UseTree};

use crate::source;

/// A path as it is written, or from the root of its crate.
pub(crate) type Names = Vec<String>;

/// The modules of one program or library, each by its path from the root.
#[derive(Default)]
pub(crate) struct Modules {
    modules: BTreeMap<Names, Module>,
    /// Each file, with its text.
    pub(crate) files: BTreeMap<PathBuf, (File, String)>,
}

/// The paths in a module.
#[derive(Default)]
struct Module {
    /// The names that `use` gives, with what they are.
    imports: BTreeMap<String, Names>,
    used: BTreeSet<Names>,
    is_inline: bool,
}

/// The target of a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A module of this crate.
    Inside(Names),
    /// A path that begins with the name of another crate, or with a name that is local.
    Outside(Names),
}

impl Modules {
    /// Reads a file and the files of its modules. With `with_tests`, the tests are a part of it.
    pub(crate) fn read(root: &Path, with_tests: bool) -> Result<Self, String> {
        let mut modules = Self::default();
        let dir = root.parent().unwrap_or(root);
        modules.read_file(root, dir, &[], with_tests)?;
        Ok(modules)
    }

    /// Reads the file of a module, whose modules are below `dir`.
    fn read_file(
        &mut self,
        path: &Path,
        dir: &Path,
        name: &[String],
        with_tests: bool,
    ) -> Result<(), String> {
        let text =
            fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let mut file = source::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        if !with_tests {
            source::remove_tests(&mut file);
        }
        for (module, place) in self.add(&file.items, name, dir) {
            let beside = path.parent().unwrap_or(path);
            let candidates = match path_attribute(&place.item) {
                Some(path) => vec![beside.join(path)],
                None => vec![place.dir.with_extension("rs"), place.dir.join("mod.rs")],
            };
            let Some(file) = candidates.iter().find(|it| it.is_file()) else {
                return Err(format!("{} has no file for its module {}", path.display(), module.join("::")));
            };
            // Beside a `mod.rs`, and beside a file that `path` names.
            let is_beside = file.ends_with("mod.rs") || path_attribute(&place.item).is_some();
            let below = if is_beside { file.parent().unwrap_or(file) } else { &place.dir };
            self.read_file(file, below, &module, with_tests)?;
        }
        self.files.insert(path.to_owned(), (file, text));
        Ok(())
    }

    /// Adds a module with these items, and returns its modules that have a file.
    fn add(&mut self, items: &[Item], name: &[String], dir: &Path) -> Vec<(Names, Declared)> {
        let mut declared = Vec::new();
        let mut module = Module::default();
        for item in items {
            match item {
                Item::Mod(item) => {
                    let ident = item.ident.to_string();
                    let (below, dir) = ([name, std::slice::from_ref(&ident)].concat(), dir.join(ident));
                    match &item.content {
                        Some((_, items)) => {
                            declared.extend(self.add(items, &below, &dir));
                            self.modules.entry(below).or_default().is_inline = true;
                        }
                        None => declared.push((below, Declared { item: item.clone(), dir })),
                    }
                }
                Item::Use(item) => module.visit_item_use(item),
                _ => {
                    module.visit_item(item);
                    add_paths(item.to_token_stream(), &mut module.used);
                }
            }
        }
        // Two files can be the same module, each with a feature.
        let known = self.modules.entry(name.to_owned()).or_default();
        known.imports.append(&mut module.imports);
        known.used.append(&mut module.used);
        declared
    }

    /// The places to which each module's paths lead, also through the `use` of another module.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> {
        self.uses().map(|(name, path)| self.place(name, path, true))
    }

    fn uses(&self) -> impl Iterator<Item = (&Names, &Names)> {
        self.modules.iter().flat_map(|(name, module)| module.used.iter().map(move |it| (name, it)))
    }

    /// Follows a path in a module. With `through_use`, also through the `use` of another module.
    fn place(&self, module: &[String], path: &[String], through_use: bool) -> Place {
        let (mut module, mut path) = (module.to_owned(), path.to_owned());
        // Each `use` is followed once, because `use a::a` would lead to itself.
        let mut followed = BTreeSet::new();
        loop {
            let mut at = module.clone();
            let mut rest = path.iter().peekable();
            let first = rest.peek().map(|it| it.as_str()).unwrap_or_default();
            if first == "crate" {
                at.clear();
            } else if !["self", "super"].contains(&first) && self.child(&module, first).is_none() {
                let import = self.import(&module, first);
                let import = import.filter(|_| followed.insert((module.clone(), first.to_owned())));
                let Some(import) = import else { return Place::Outside(path) };
                path = import.iter().chain(path.iter().skip(1)).cloned().collect();
                continue;
            }
            rest.next_if(|it| *it == "crate");
            while let Some(step) = rest.next_if(|it| ["self", "super"].contains(&it.as_str())) {
                if step == "super" {
                    at.pop();
                }
            }
            while let Some(child) = rest.peek().and_then(|it| self.child(&at, it)) {
                at = child;
                rest.next();
            }
            let Some(name) = rest.next().filter(|_| through_use) else { return Place::Inside(at) };
            let import = self.import(&at, name).filter(|_| followed.insert((at.clone(), name.clone())));
            let Some(import) = import else { return Place::Inside(at) };
            path = import.iter().chain(rest).cloned().collect();
            module = at;
        }
    }

    /// Returns the module that is the file of this one.
    fn file(&self, module: &[String]) -> Names {
        let mut module = module.to_owned();
        while self.modules.get(&module).is_some_and(|it| it.is_inline) {
            module.pop();
        }
        module
    }

    fn import(&self, module: &[String], name: &str) -> Option<&Names> {
        self.modules.get(module)?.imports.get(name)
    }

    fn child(&self, module: &[String], name: &str) -> Option<Names> {
        let child = [module, &[name.to_owned()]].concat();
        self.modules.contains_key(&child).then_some(child)
    }

    /// The circles of files.
    ///
    /// A path from a file to a module of another one is an arrow, also if that module only re-exports the name. A path
    /// to a module above or below is none: a parent has the items that its modules share.
    pub(crate) fn circles(&self) -> Vec<BTreeSet<Names>> {
        let mut arrows: BTreeMap<Names, BTreeSet<Names>> = BTreeMap::new();
        for (from, path) in self.uses() {
            let Place::Inside(to) = self.place(from, path, false) else { continue };
            let (from, to) = (self.file(from), self.file(&to));
            if !from.starts_with(&to) && !to.starts_with(&from) {
                arrows.entry(from).or_default().insert(to);
            }
        }
        let reached: BTreeMap<&Names, BTreeSet<&Names>> =
            arrows.keys().map(|from| (from, reached(&arrows, from))).collect();
        let mut circles: Vec<BTreeSet<Names>> = Vec::new();
        for (from, to) in &reached {
            if !to.contains(from) || circles.iter().any(|it| it.contains(*from)) {
                continue;
            }
            let back = to.iter().filter(|it| reached.get(*it).is_some_and(|it| it.contains(from)));
            circles.push(back.map(|it| (*it).clone()).collect());
        }
        circles
    }
}

/// Returns the modules to which arrows lead from this one.
fn reached<'a>(arrows: &'a BTreeMap<Names, BTreeSet<Names>>, from: &Names) -> BTreeSet<&'a Names> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&Names> = arrows.get(from).into_iter().flatten().collect();
    while let Some(next) = waiting.pop() {
        if reached.insert(next) {
            waiting.extend(arrows.get(next).into_iter().flatten());
        }
    }
    reached
}

/// A module with a file, and the directory of its modules if that file is not a `mod.rs`.
struct Declared {
    item: ItemMod,
    dir: PathBuf,
}

/// Returns the file in `#[path = "file"]`.
fn path_attribute(item: &ItemMod) -> Option<String> {
    let path = item.attrs.iter().find(|it| it.path().is_ident("path"))?;
    match &path.meta {
        Meta::NameValue(MetaNameValue { value: Expr::Lit(ExprLit { lit: Lit::Str(it), .. }), .. }) => {
            Some(it.value())
        }
        _ => None,
    }
}

/// Finds each `use`, also in a function.
impl Visit<'_> for Module {
    fn visit_item_use(&mut self, item: &ItemUse) {
        self.add_use(&mut Vec::new(), &item.tree);
    }
}

impl Module {
    fn add_use(&mut self, before: &mut Names, tree: &UseTree) {
        let (mut name, last) = match tree {
            UseTree::Path(it) => {
                before.push(it.ident.to_string());
                self.add_use(before, &it.tree);
                before.pop();
                return;
            }
            UseTree::Group(it) => {
                it.items.iter().for_each(|tree| self.add_use(before, tree));
                return;
            }
            UseTree::Glob(_) => ("*".to_owned(), "*".to_owned()),
            UseTree::Name(it) => (it.ident.to_string(), it.ident.to_string()),
            UseTree::Rename(it) => (it.rename.to_string(), it.ident.to_string()),
        };
        let mut path = before.clone();
        if last == "self" {
            if name == "self" {
                name = path.last().cloned().unwrap_or_default();
            }
        } else {
            path.push(last);
        }
        if !["*", "_"].contains(&name.as_str()) {
            self.imports.insert(name, path.clone());
        }
        self.used.insert(path);
    }
}

/// Adds the paths of two or more names in tokens, also those in the arguments of macros.
fn add_paths(tokens: TokenStream, paths: &mut BTreeSet<Names>) {
    let mut path: Names = Vec::new();
    let (mut colons, mut is_absolute) = (0, false);
    let mut end = |path: &mut Names, is_absolute: &mut bool| {
        let path = std::mem::take(path);
        if path.len() > 1 && !std::mem::take(is_absolute) {
            paths.insert(path);
        }
    };
    let mut groups = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Ident(it) => {
                if colons != 2 {
                    end(&mut path, &mut is_absolute);
                } else if path.is_empty() {
                    is_absolute = true;
                }
                path.push(it.to_string());
                colons = 0;
            }
            TokenTree::Punct(it) if it.as_char() == ':' => {
                if colons == 0 && it.spacing() == Spacing::Alone {
                    end(&mut path, &mut is_absolute);
                } else {
                    colons += 1;
                }
            }
            token => {
                end(&mut path, &mut is_absolute);
                colons = 0;
                if let TokenTree::Group(it) = token {
                    groups.push(it.stream());
                }
            }
        }
    }
    end(&mut path, &mut is_absolute);
    groups.into_iter().for_each(|it| add_paths(it, paths));
}

/// Returns the names that paths take through `hookbox::internal`: a module there and its item, or an item.
///
/// A module without an item counts if no path of the crate leads into it.
pub(crate) fn internal_names<'a>(paths: impl IntoIterator<Item = &'a Place>) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = BTreeSet::new();
    for path in paths {
        if let Place::Outside(path) = path
            && let [hookbox, internal, names_below @ ..] = path.as_slice()
            && (hookbox.as_str(), internal.as_str()) == ("hookbox", "internal")
        {
            let name: Vec<&str> = names_below.iter().take(2).map(String::as_str).collect();
            names.insert(name.join("::"));
        }
    }
    let all = names.clone();
    names.retain(|name| !name.is_empty() && !all.iter().any(|it| it.starts_with(&format!("{name}::"))));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes files, and reads the crate of the first one.
    fn modules(files: &[(&str, &str)]) -> Modules {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Modules::read(&dir.path().join(files[0].0), false).unwrap()
    }

    #[test]
    fn the_files_of_a_crate_are_those_of_its_modules() {
        let modules = modules(&[
            ("lib.rs", "mod a; mod b { mod c; } #[path = \"other.rs\"] mod d; #[cfg(test)] mod tests;"),
            ("a.rs", "mod e;"),
            ("a/e.rs", ""),
            ("b/c/mod.rs", "mod f;"),
            ("b/c/f.rs", ""),
            ("other.rs", "mod g;"),
            ("g.rs", ""),
            ("tests.rs", ""),
            ("unused.rs", ""),
        ]);
        let read: Vec<String> = modules.modules.keys().map(|it| it.join("::")).collect();
        assert_eq!(read, ["", "a", "a::e", "b", "b::c", "b::c::f", "d", "d::g"]);
        assert_eq!(modules.files.len(), 7);
    }

    #[test]
    fn a_module_without_a_file_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lib.rs");
        fs::write(&path, "mod a;").unwrap();
        let error = Modules::read(&path, false).err().unwrap();
        assert!(error.ends_with("lib.rs has no file for its module a"), "{error}");
    }

    #[test]
    fn files_that_lead_to_each_other_are_a_circle() {
        let lib = ("lib.rs", "pub use a::A; mod a; mod b; mod c;");
        for (a, b, c, expected) in [
            ("use crate::b::B;", "use crate::c::C;", "", ""),
            ("use crate::b::B;", "use crate::a::A;", "use crate::a::A;", "a b"),
            ("use super::b::{self, B};", "fn b() { crate::a::A::new() }", "", "a b"),
            ("use crate::b;", "fn b() -> Vec<super::a::A> {}", "", "a b"),
            ("use crate::b;", "fn b() { println!(\"{}\", crate::a::A) }", "", "a b"),
            ("use crate::b::B;", "use crate::c::C;", "use crate::a::A;", "a b c"),
            ("use crate::b::B;", "#[cfg(test)] mod tests { use crate::a::A; }", "", ""),
            // The parent has this name.
            ("use crate::b::B;", "use crate::A;", "", ""),
            // Modules of one file.
            ("mod d { use super::e::E; } mod e { use super::d::D; }", "", "", ""),
            ("mod d { use crate::b::B; }", "mod e { use crate::a::A; }", "", "a b"),
            // A comment, a text and another crate.
            ("use crate::b::B;", "// crate::a::A\nconst B: &str = \"crate::a::A\";", "use b::B;", ""),
        ] {
            let circles = modules(&[lib, ("a.rs", a), ("b.rs", b), ("c.rs", c)]).circles();
            let circles: Vec<String> = circles
                .iter()
                .map(|it| it.iter().map(|it| it.join("::")).collect::<Vec<_>>().join(" "))
                .collect();
            assert_eq!(circles.join(", "), expected, "{a} | {b} | {c}");
        }
    }

    #[test]
    fn a_file_and_those_below_it_are_no_circle() {
        let a = ("a/mod.rs", "mod b; use b::B; struct A;");
        let modules = modules(&[("lib.rs", "mod a;"), a, ("a/b.rs", "use super::A;")]);
        assert!(modules.circles().is_empty());
    }

    #[test]
    fn two_circles_of_one_crate_are_two() {
        let modules = modules(&[
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "use crate::{b, c};"),
            ("b.rs", "use crate::a;"),
            ("c.rs", "use crate::d;"),
            ("d.rs", "use crate::c;"),
        ]);
        assert_eq!(modules.circles().len(), 2);
    }

    #[test]
    fn names_of_internal_are_found_through_use() {
        for (lib, a, expected) in [
            ("use hookbox::internal::files::NewFile;", "", "files::NewFile"),
            ("use hookbox::internal::{json, files::{self, A as B}};", "", "files::A json"),
            ("use hookbox::internal::text; fn a() { text::escape() }", "", "text::escape"),
            ("use hookbox::internal as inside; fn a() { inside::text::escape() }", "", "text::escape"),
            ("fn a() { b!(hookbox::internal::text::escape) }", "", "text::escape"),
            ("use hookbox::internal::dialect;", "use crate::dialect::exact::{A, B};", "dialect::exact"),
            ("use hookbox::internal::dialect::exact::{A, B};", "", "dialect::exact"),
            ("use hookbox::internal::tool_result;", "use hookbox::event::Event;", "tool_result"),
            ("#[cfg(test)] use hookbox::internal::json::value;", "fn json() { json::value() }", ""),
            ("use a::a; use other::internal::b;", "use a::a;", ""),
        ] {
            let modules = modules(&[("lib.rs", &format!("{lib} mod a;")), ("a.rs", a)]);
            let places: Vec<Place> = modules.places().collect();
            let names: Vec<String> = internal_names(&places).into_iter().collect();
            assert_eq!(names.join(" "), expected, "{lib} | {a}");
        }
    }
}
