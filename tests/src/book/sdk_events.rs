//! The types of events in the SDKs for Python and TypeScript are generated from `wit/types.wit`: `cargo xtask tables`.

use wit_parser::{Docs, Field, Resolve, Type, TypeDef, TypeDefKind, Variant};

use super::assert_is_generated;
use crate::environment::repository;

const PYTHON: &str = "guest-sdk/python/hookbox_sdk/events.py";
const TYPESCRIPT: &str = "guest-sdk/typescript/src/events.ts";

/// The record that is more than the data of an event: other records have it, too.
const CALL: &str = "tool-call";

#[test]
fn each_sdk_has_the_events_and_is_the_one_that_is_generated() {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(repository().join("wit")).unwrap();
    let types = &resolve.interfaces[resolve.packages[package].interfaces["types"]].types;
    let types: Vec<&TypeDef> = types.values().map(|id| &resolve.types[*id]).collect();
    let last = types.iter().position(|it| it.name.as_deref() == Some("event")).unwrap();
    let TypeDefKind::Variant(events) = &types[last].kind else { panic!("event is not a variant") };
    let sdk = Sdk { resolve: &resolve, types: &types[..=last], events };
    assert_is_generated(PYTHON, &sdk.python());
    assert_is_generated(TYPESCRIPT, &sdk.typescript());
}

/// The types up to `event`, which is the last one.
struct Sdk<'a> {
    resolve: &'a Resolve,
    types: &'a [&'a TypeDef],
    events: &'a Variant,
}

impl<'a> Sdk<'a> {
    /// Returns the definition of a type, unless it is a primitive one.
    fn kind(&self, of: &Type) -> Option<&'a TypeDefKind> {
        let Type::Id(id) = of else { return None };
        Some(&self.resolve.types[*id].kind)
    }

    fn class_of(&self, of: &Type) -> String {
        let Type::Id(id) = of else { panic!("{of:?} is not in an event") };
        class(self.resolve.types[*id].name.as_deref().unwrap())
    }

    /// Returns the event whose data a type is: its name, and the lines about it.
    fn event(&self, of: &TypeDef) -> Option<(String, Vec<&'a str>)> {
        let is_its = |ty: &Type| matches!(ty, Type::Id(id) if self.resolve.types[*id].name == of.name);
        let case = self.events.cases.iter().find(|case| case.ty.as_ref().is_some_and(is_its))?;
        Some((case.name.replace('-', "_"), lines(&case.docs)))
    }

    fn python(&self) -> String {
        let mut out = "\
            \"\"\"The data of every event. A value that the agent did not give is `None`, never an invented default.\"\"\"\n\n\
            # Written by `cargo xtask tables`. Change wit/types.wit instead.\n\n\
            from collections.abc import Sequence\n\
            from dataclasses import dataclass, field\n\
            from typing import Literal\n\n\
            from .values import Document, FailedHook, FailedTurn, Usage\n"
            .to_owned();
        for of in self.types {
            let name = of.name.as_deref().unwrap();
            let about = lines(&of.docs);
            match &of.kind {
                // It has a method.
                TypeDefKind::Record(_) if name == "usage" => {}
                TypeDefKind::Record(record) => {
                    let about = about.join("\n    ");
                    let about = match self.event(of) {
                        None => about,
                        Some((event, lines)) => {
                            let lines = lines.join("\n    ");
                            let lines = format!("`{event}`: {}{}", lines[..1].to_lowercase(), &lines[1..]);
                            // The record of the same name says the same.
                            let is_same = class(name) == class(&event.replace('_', "-"));
                            if is_same { lines } else { format!("{lines}\n\n    {about}\n    ") }
                        }
                    };
                    out += &format!(
                        "\n\n@dataclass(frozen=True)\nclass {}:\n    \"\"\"{about}\"\"\"\n\n",
                        class(name)
                    );
                    let mut has_default = name == "context";
                    for field in &record.fields {
                        let (of, default) = self.python_field(field);
                        has_default |= default.starts_with(['N', '(', 'f']);
                        let default = if has_default { format!(" = {default}") } else { String::new() };
                        let (name, about) = (field.name.replace('-', "_"), lines(&field.docs).join("\n    "));
                        out += &format!("    {name}: {of}{default}\n    \"\"\"{about}\"\"\"\n");
                    }
                }
                TypeDefKind::Enum(of) => {
                    let cases: Vec<String> = of.cases.iter().map(|it| format!("\"{}\"", it.name)).collect();
                    let (name, cases, about) = (class(name), cases.join(", "), about.join("\n"));
                    out += &format!("\n\n{name} = Literal[{cases}]\n\"\"\"{about}\"\"\"\n");
                }
                TypeDefKind::Variant(of) => {
                    let cases =
                        of.cases.iter().map(|case| match (&case.ty, self.kind(case.ty.as_ref().unwrap())) {
                            (Some(ty), Some(TypeDefKind::Record(_))) => self.class_of(ty),
                            _ => format!("Failed{}", class(&case.name)),
                        });
                    let (name, cases) = (class(name), cases.collect::<Vec<_>>().join("\n    | "));
                    out += &format!("\n\n{name} = (\n    {cases}\n)\n\"\"\"{}\"\"\"\n", about.join("\n"));
                }
                _ => {}
            }
        }
        out
    }

    /// Returns the type of a field, and its default.
    fn python_field(&self, field: &Field) -> (String, String) {
        let plain = |name: &str, default: &str| (name.to_owned(), default.to_owned());
        match &field.ty {
            Type::Bool => plain("bool", "False"),
            Type::String => plain("str", "\"\""),
            Type::F64 => plain("float", "0.0"),
            Type::U32 | Type::U64 | Type::S32 => plain("int", "0"),
            of => match self.kind(of) {
                Some(TypeDefKind::Option(ty)) => {
                    let (of, _) = self.python_field(&Field { ty: *ty, ..field.clone() });
                    (format!("{of} | None"), "None".to_owned())
                }
                Some(TypeDefKind::List(ty)) => (format!("Sequence[{}]", self.class_of(ty)), "()".to_owned()),
                Some(TypeDefKind::Handle(_)) if field.name == "messages" => {
                    plain("Document", "field(default_factory=lambda: Document([]))")
                }
                Some(TypeDefKind::Handle(_)) => plain("Document", "field(default_factory=Document)"),
                Some(TypeDefKind::Enum(cases)) => {
                    let default = cases.cases.iter().find(|it| it.name == "other").unwrap_or(&cases.cases[0]);
                    (self.class_of(of), format!("\"{}\"", default.name))
                }
                _ => (self.class_of(of), String::new()),
            },
        }
    }

    fn typescript(&self) -> String {
        let mut out = "\
            /** The data of every event. A value that the agent did not give is absent, never an invented default. */\n\n\
            // Written by `cargo xtask tables`. Change wit/types.wit instead.\n\n\
            import type { Document, ErrorSource } from \"./values.ts\";\n"
            .to_owned();
        for of in self.types {
            let name = of.name.as_deref().unwrap();
            let about = comment("", &lines(&of.docs));
            match &of.kind {
                TypeDefKind::Record(record) => {
                    let mut fields = String::new();
                    for field in &record.fields {
                        let (mark, of) = match self.kind(&field.ty) {
                            Some(TypeDefKind::Option(of)) => ("?", of),
                            _ => ("", &field.ty),
                        };
                        let (about, name) = (comment("  ", &lines(&field.docs)), small(&field.name));
                        fields += &format!("{about}  {name}{mark}: {};\n", self.typescript_type(of));
                    }
                    let event = self.event(of);
                    if event.is_none() || name == CALL {
                        out += &format!("\n{about}export interface {} {{\n{fields}}}\n", class(name));
                    }
                    if let Some((event, lines)) = event {
                        let (about, own) = (comment("", &lines), self.interface(&event));
                        let (extends, fields) =
                            if name == CALL { (" extends ToolCall", "") } else { ("", fields.as_str()) };
                        out += &format!(
                            "\n{about}export interface {own}{extends} {{\n  event: \"{event}\";\n{fields}}}\n"
                        );
                    }
                }
                TypeDefKind::Enum(of) => {
                    let cases: Vec<String> = of.cases.iter().map(|it| format!("\"{}\"", it.name)).collect();
                    out += &format!("\n{about}export type {} = {};\n", class(name), cases.join(" | "));
                }
                _ => {}
            }
        }
        let names = self.events.cases.iter().map(|case| format!("\n  | {}", self.interface(&case.name)));
        let names: String = names.collect();
        out + &format!("\n/** Every event; `event` tells them apart. */\nexport type Event ={names};\n")
    }

    /// Returns the name of the interface of an event.
    fn interface(&self, event: &str) -> String {
        if event == "other" { "OtherEvent".to_owned() } else { class(&event.replace('_', "-")) }
    }

    fn typescript_type(&self, of: &Type) -> String {
        match (of, self.kind(of)) {
            (Type::Bool, _) => "boolean".to_owned(),
            (Type::String, _) => "string".to_owned(),
            (_, None) => "number".to_owned(),
            (_, Some(TypeDefKind::List(of))) => format!("{}[]", self.typescript_type(of)),
            (_, Some(TypeDefKind::Handle(_))) => "Document".to_owned(),
            _ => self.class_of(of),
        }
    }
}

/// Returns the name of a type in the SDKs.
fn class(name: &str) -> String {
    let name = if name == "custom-event" { "other-event" } else { name };
    name.split('-').map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

/// Returns the name of a field in TypeScript.
fn small(name: &str) -> String {
    let name = class(name);
    name[..1].to_lowercase() + &name[1..]
}

fn lines(docs: &Docs) -> Vec<&str> {
    docs.contents.as_deref().unwrap_or_default().trim().lines().collect()
}

fn comment(indent: &str, lines: &[&str]) -> String {
    format!("{indent}/** {} */\n", lines.join(&format!("\n{indent} * ")))
}
