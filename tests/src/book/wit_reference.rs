//! The page `docs/src/wit.md` is generated from `wit/`: `cargo xtask tables`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use wit_parser::{
    Docs, Function, Handle, InterfaceId, PackageId, Resolve, Type, TypeDefKind, TypeId, WorldId, WorldItem,
    WorldKey,
};

use super::assert_is_generated;
use crate::environment::repository;

const PAGE: &str = "docs/src/wit.md";

#[test]
fn the_wit_page_is_the_one_that_is_generated() {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(repository().join("wit")).unwrap();
    let text = Reference { resolve: &resolve, package }.page();
    assert_is_generated(PAGE, &text);
}

/// mdBook makes an anchor of a heading as GitHub does; a second one with the same text would get a number.
#[test]
fn every_link_of_the_wit_page_leads_to_one_heading() {
    let page = fs::read_to_string(repository().join(PAGE)).unwrap();
    let headings = headings(&page);
    let anchors: BTreeSet<String> = headings.iter().cloned().collect();
    assert_eq!(anchors.len(), headings.len(), "{headings:?}");
    let links: Vec<&str> = page.split("](#").skip(1).map(|rest| rest.split(')').next().unwrap()).collect();
    assert!(links.len() > 20, "{page}");
    for link in links {
        assert!(anchors.contains(link), "{link}");
    }
}

/// Returns the anchors of a page.
fn headings(page: &str) -> Vec<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let plain = |line: &str| line.trim_start_matches('#').trim().replace(' ', "-").replace(['`', '.'], "");
    headings.map(|line| plain(line).to_lowercase()).collect()
}

/// The writer of the page.
struct Reference<'a> {
    resolve: &'a Resolve,
    package: PackageId,
}

impl Reference<'_> {
    fn page(&self) -> String {
        let package = &self.resolve.packages[self.package];
        let mut out = format!(
            "# WIT\n\n\
            <!-- Written by `cargo xtask tables`. Change wit/ instead. -->\n\n\
            This page lists the package `{}`, which [components](component-hooks.md) use.\n\
            The source is in [`wit/`](https://github.com/hookbox/hookbox/tree/main/wit). Each SDK has these types in its own language.\n\n\
            A component exports [`hook`](#interface-hook). Build it for the world [`hook-component`](#world-hook-component), \
            or for [`hook-plain`](#world-hook-plain) if it needs no files, variables and requests.\n",
            package.name
        );
        for (name, id) in &package.interfaces {
            self.interface(&mut out, name, *id);
        }
        for (name, id) in &package.worlds {
            self.world(&mut out, name, *id);
        }
        out
    }

    fn interface(&self, out: &mut String, name: &str, id: InterfaceId) {
        let interface = &self.resolve.interfaces[id];
        write!(out, "\n## Interface {name}\n").unwrap();
        paragraphs(out, &interface.docs);
        for function in interface.functions.values().filter(|it| it.kind.resource().is_none()) {
            write!(out, "\n### func {}\n\n{}\n", function.name, code(&self.signature(function))).unwrap();
            paragraphs(out, &function.docs);
        }
        for (name, id) in &interface.types {
            // What `use` brings in is on the page already.
            if !self.is_use(*id) {
                self.type_of(out, name, *id, interface.functions.values());
            }
        }
    }

    fn is_use(&self, id: TypeId) -> bool {
        match self.resolve.types[id].kind {
            TypeDefKind::Type(Type::Id(of)) => self.resolve.types[of].owner != self.resolve.types[id].owner,
            _ => false,
        }
    }

    fn type_of<'f>(
        &self,
        out: &mut String,
        name: &str,
        id: TypeId,
        functions: impl Iterator<Item = &'f Function>,
    ) {
        let definition = &self.resolve.types[id];
        let (kind, rows): (String, Vec<[String; 3]>) = match &definition.kind {
            TypeDefKind::Record(record) => {
                let rows = record.fields.iter().map(|it| self.row(&it.name, Some(&it.ty), &it.docs));
                ("record".to_owned(), rows.collect())
            }
            TypeDefKind::Variant(variant) => {
                let rows = variant.cases.iter().map(|it| self.row(&it.name, it.ty.as_ref(), &it.docs));
                ("variant".to_owned(), rows.collect())
            }
            TypeDefKind::Enum(cases) => {
                let rows = cases.cases.iter().map(|it| self.row(&it.name, None, &it.docs));
                ("enum".to_owned(), rows.collect())
            }
            TypeDefKind::Flags(flags) => {
                let rows = flags.flags.iter().map(|it| self.row(&it.name, None, &it.docs));
                ("flags".to_owned(), rows.collect())
            }
            TypeDefKind::Resource => {
                let methods = functions.filter(|it| it.kind.resource() == Some(id));
                let rows = methods.map(|it| {
                    let meaning = line(&it.docs);
                    [format!("`{}`", it.item_name()), code(&self.signature(it)), meaning]
                });
                ("resource".to_owned(), rows.collect())
            }
            TypeDefKind::Type(of) => (format!("type, {}", code(&self.shown(of))), Vec::new()),
            other => panic!("{name}: the page cannot show {other:?}"),
        };
        write!(out, "\n### {name}\n\n*{kind}*\n").unwrap();
        paragraphs(out, &definition.docs);
        list(out, &rows);
    }

    fn row(&self, name: &str, of: Option<&Type>, docs: &Docs) -> [String; 3] {
        [format!("`{name}`"), of.map(|of| code(&self.shown(of))).unwrap_or_default(), line(docs)]
    }

    fn world(&self, out: &mut String, name: &str, id: WorldId) {
        let world = &self.resolve.worlds[id];
        write!(out, "\n## World {name}\n").unwrap();
        paragraphs(out, &world.docs);
        let base = self.base(id);
        if let Some((base, _)) = base {
            write!(out, "\nIt has all imports of [`{base}`](#world-{base}).\n").unwrap();
        }
        let of_base = |key: &WorldKey| base.is_some_and(|(_, id)| self.imports(id).contains(&self.name(key)));
        let imports = world.imports.iter().filter(|(key, _)| !of_base(key)).collect::<Vec<_>>();
        for (heading, items) in [("Imports", imports), ("Exports", world.exports.iter().collect())] {
            let mut rows = Vec::new();
            let mut others = Vec::new();
            for (key, item) in items {
                let WorldItem::Interface { docs, .. } = item else { panic!("{name}: not an interface") };
                let shown = self.interface_name(key);
                if docs.contents.is_some() || shown.starts_with('[') {
                    rows.push([shown, String::new(), line(docs)]);
                } else {
                    others.push(shown);
                }
            }
            if !rows.is_empty() {
                write!(out, "\n{heading}:\n").unwrap();
            }
            list(out, &rows);
            if !others.is_empty() {
                write!(out, "\nFurther {}: {}.\n", heading.to_lowercase(), others.join(", ")).unwrap();
            }
        }
    }

    fn name(&self, key: &WorldKey) -> String {
        self.resolve.name_world_key(key)
    }

    fn imports(&self, world: WorldId) -> BTreeSet<String> {
        self.resolve.worlds[world].imports.keys().map(|key| self.name(key)).collect()
    }

    /// Returns the largest world above this one on the page whose imports are all among those of this one.
    fn base(&self, world: WorldId) -> Option<(&str, WorldId)> {
        let worlds = &self.resolve.packages[self.package].worlds;
        let above = worlds.iter().take_while(|(_, id)| **id != world).map(|(name, id)| (name.as_str(), *id));
        let of_this = self.imports(world);
        above
            .filter(|(_, id)| self.imports(*id).is_subset(&of_this))
            .max_by_key(|(_, id)| self.imports(*id).len())
    }

    fn interface_name(&self, key: &WorldKey) -> String {
        let shown = format!("`{}`", self.name(key));
        match key {
            WorldKey::Interface(id) if self.resolve.interfaces[*id].package == Some(self.package) => {
                let name = self.resolve.interfaces[*id].name.as_deref().unwrap();
                format!("[{shown}](#interface-{name})")
            }
            _ => shown,
        }
    }

    fn signature(&self, function: &Function) -> String {
        let params = function.params.iter().filter(|it| it.name != "self");
        let params: Vec<String> = params.map(|it| format!("{}: {}", it.name, self.shown(&it.ty))).collect();
        let result = function.result.as_ref().map(|it| format!(" -&gt; {}", self.shown(it)));
        format!("func({}){}", params.join(", "), result.unwrap_or_default())
    }

    /// A type in HTML, with links in Markdown to the types of this page.
    fn shown(&self, of: &Type) -> String {
        let Type::Id(id) = of else { return primitive(*of).to_owned() };
        let definition = &self.resolve.types[*id];
        if let Some(name) = &definition.name {
            return format!("[{name}](#{name})");
        }
        match &definition.kind {
            TypeDefKind::Option(of) => format!("option&lt;{}&gt;", self.shown(of)),
            TypeDefKind::List(of) => format!("list&lt;{}&gt;", self.shown(of)),
            TypeDefKind::Tuple(tuple) => {
                let types: Vec<String> = tuple.types.iter().map(|it| self.shown(it)).collect();
                format!("tuple&lt;{}&gt;", types.join(", "))
            }
            TypeDefKind::Result(result) => {
                let side =
                    |of: &Option<Type>| of.as_ref().map_or_else(|| "_".to_owned(), |it| self.shown(it));
                format!("result&lt;{}, {}&gt;", side(&result.ok), side(&result.err))
            }
            TypeDefKind::Handle(Handle::Own(id)) => self.shown(&Type::Id(*id)),
            TypeDefKind::Handle(Handle::Borrow(id)) => {
                format!("borrow&lt;{}&gt;", self.shown(&Type::Id(*id)))
            }
            other => panic!("the page cannot show {other:?}"),
        }
    }
}

fn primitive(of: Type) -> &'static str {
    match of {
        Type::Bool => "bool",
        Type::U8 => "u8",
        Type::U16 => "u16",
        Type::U32 => "u32",
        Type::U64 => "u64",
        Type::S8 => "s8",
        Type::S16 => "s16",
        Type::S32 => "s32",
        Type::S64 => "s64",
        Type::F32 => "f32",
        Type::F64 => "f64",
        Type::Char => "char",
        Type::String => "string",
        Type::ErrorContext => "error-context",
        Type::Id(_) => unreachable!("a type with a definition"),
    }
}

fn code(shown: &str) -> String {
    format!("<code>{shown}</code>")
}

/// Writes the comment above a definition, a blank line before each paragraph.
fn paragraphs(out: &mut String, docs: &Docs) {
    for paragraph in docs.contents.as_deref().unwrap_or_default().split("\n\n").filter(|it| !it.is_empty()) {
        write!(out, "\n{}\n", paragraph.split_whitespace().collect::<Vec<_>>().join(" ")).unwrap();
    }
}

/// Returns a comment as one line for a list.
fn line(docs: &Docs) -> String {
    docs.contents.as_deref().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Writes a list of names, each with its type and its meaning if it has them.
fn list(out: &mut String, rows: &[[String; 3]]) {
    if !rows.is_empty() {
        out.push('\n');
    }
    for [name, of, meaning] in rows {
        let of = if of.is_empty() { String::new() } else { format!(" ({of})") };
        let meaning = if meaning.is_empty() { String::new() } else { format!(": {meaning}") };
        writeln!(out, "* {name}{of}{meaning}").unwrap();
    }
}
