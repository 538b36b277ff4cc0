//! Writes the components that no compiler would: `forge WAT WIT COMPONENTS OUT`.
//!
//! Every `WAT/NAME.wat` becomes `OUT/NAME.wasm`, and `OUT/random/` is filled with random components and with
//! damaged ones. The same sources give the same bytes.

mod damage;
mod random;
mod template;

use std::collections::BTreeSet;
use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

type Done<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let args: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let [wat, wit, components, out] = args.as_slice() else {
        eprintln!("usage: forge WAT WIT COMPONENTS OUT");
        return ExitCode::from(2);
    };
    match forge(wat, wit, components, out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn forge(wat: &Path, wit: &Path, components: &Path, out: &Path) -> Done<()> {
    let wrap = Wrap::new(wit)?;
    let mut sources: Vec<PathBuf> =
        fs::read_dir(wat)?.map(|entry| Ok(entry?.path())).collect::<Done<Vec<_>>>()?;
    sources.sort();
    for source in sources.iter().filter(|path| path.extension().is_some_and(|it| it == "wat")) {
        let name = source.file_stem().unwrap_or_default().to_string_lossy();
        let fields = fs::read_to_string(source)?;
        let component = wrap
            .component(&template::module(&fields))
            .map_err(|error| format!("{}: {error}", source.display()))?;
        write(&out.join(format!("{name}.wasm")), &component)?;
    }
    let plain = wrap.component(&template::module(""))?;
    let real = fs::read(components.join("answers.wasm"))?;
    let random = out.join("random");
    let made = random::components(&wrap);
    println!("{} random modules, {} of them are components", random::TRIES, made.len());
    let damaged = [damage::of("plain", &plain, 150), damage::of("answers", &real, 30)].concat();
    let mut names = BTreeSet::new();
    for (name, bytes) in made.iter().chain(&damaged) {
        let path = random.join(format!("{name}.wasm"));
        write(&path, bytes)?;
        names.insert(path);
    }
    // The tests would also take the files of an earlier forge.
    for entry in fs::read_dir(&random)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "wasm") && !names.contains(&path) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Writes a file atomically.
fn write(path: &Path, bytes: &[u8]) -> Done<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let part = path.with_extension(format!("part{}", std::process::id()));
    fs::write(&part, bytes)?;
    fs::rename(&part, path)?;
    Ok(())
}

/// Makes components of core modules that speak the hook interface.
struct Wrap {
    /// The section that names the world of a module: the small one, and the one with all of WASI.
    worlds: [Vec<u8>; 2],
}

impl Wrap {
    fn new(wit: &Path) -> Done<Self> {
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_dir(wit).map_err(|error| format!("{error:#}"))?;
        let section = |world| -> Done<Vec<u8>> {
            let mut section = Vec::new();
            resolve
                .select_world(&[package], Some(world))
                .and_then(|it| embed_component_metadata(&mut section, &resolve, it, StringEncoding::UTF8))
                .map_err(|error| format!("{error:#}"))?;
            Ok(section)
        };
        Ok(Self { worlds: [section("hook-plain")?, section("hook-component")?] })
    }

    /// The component of a core module in text form, in the small world if that has its imports.
    fn component(&self, module: &str) -> Done<Vec<u8>> {
        let [plain, all] = &self.worlds;
        self.in_world(plain, module).or_else(|_| self.in_world(all, module))
    }

    fn in_world(&self, world: &[u8], module: &str) -> Done<Vec<u8>> {
        let bytes = [&wat::parse_str(module)?, world].concat();
        let made =
            ComponentEncoder::default().module(&bytes).and_then(|encoder| encoder.validate(true).encode());
        made.map_err(|error| format!("{error:#}").into())
    }
}
