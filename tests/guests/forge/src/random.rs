//! Random core modules as hooks.

use std::panic::resume_unwind;
use std::thread;

use arbitrary::Unstructured;
use wasm_smith::{Config, Module};

use crate::{Wrap, template};

/// The number of random modules.
pub(crate) const TRIES: u64 = 300;

/// The imports: everything that a hook can do without rights.
const IMPORTS: &str = r#"(module
    (import "hookbox:hook/types@0.2.0" "[method]document.get" (func (param i32 i32 i32 i32)))
    (import "hookbox:hook/types@0.2.0" "[method]document.text" (func (param i32 i32)))
    (import "hookbox:hook/types@0.2.0" "[method]document.size" (func (param i32) (result i64)))
    (import "hookbox:hook/types@0.2.0" "[resource-drop]document" (func (param i32)))
    (import "wasi:logging/logging@0.1.0-draft" "log" (func (param i32 i32 i32 i32 i32)))
    (import "wasi:config/store@0.2.0-rc.1" "get" (func (param i32 i32 i32)))
    (import "wasi:keyvalue/store@0.2.0-draft" "open" (func (param i32 i32 i32)))
    (import "wasi:random/random@0.2.12" "get-random-bytes" (func (param i64 i32)))
    (import "wasi:clocks/monotonic-clock@0.2.12" "subscribe-duration" (func (param i64) (result i32)))
    (import "wasi:filesystem/preopens@0.2.12" "get-directories" (func (param i32)))
    (import "wasi:cli/stderr@0.2.12" "get-stderr" (func (result i32))))"#;

/// The exports of a random module: only `run` is random, or everything.
const SHAPES: [&str; 2] = [
    r#"(module (func (export "random") (param i32) (result i32) unreachable))"#,
    r#"(module
        (func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32) unreachable)
        (func (export "hookbox:hook/hook@0.2.0#describe") (result i32) unreachable)
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable))"#,
];

/// The caller of the random function: its result is the answer, or is dropped for a readable answer.
const RUNS: [&str; 2] = [
    r#"(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
        (call $random (local.get 0)))"#,
    r#"(func (export "hookbox:hook/hook@0.2.0#run") (param i32) (result i32)
        (drop (call $random (local.get 0))) (call $pass) (i32.const 2048))"#,
];

/// Random components by name. What no component can be made of is left out.
pub(crate) fn components(wrap: &Wrap) -> Vec<(String, Vec<u8>)> {
    let of =
        |seeds: Vec<u64>| seeds.into_iter().filter_map(|seed| Some((name(seed), component(wrap, seed)?)));
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let share = |worker| (worker as u64..TRIES).step_by(workers).collect();
    let mut made: Vec<_> = thread::scope(|scope| {
        let all: Vec<_> =
            (0..workers).map(|worker| scope.spawn(move || of(share(worker)).collect::<Vec<_>>())).collect();
        all.into_iter().flat_map(|it| it.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    made.sort();
    made
}

fn name(seed: u64) -> String {
    format!("smith-{seed:03}")
}

fn component(wrap: &Wrap, seed: u64) -> Option<Vec<u8>> {
    let all = seed.is_multiple_of(5);
    let config = Config {
        available_imports: wat::parse_str(IMPORTS).ok(),
        exports: wat::parse_str(SHAPES[usize::from(all)]).ok(),
        max_imports: 6,
        max_funcs: 8,
        max_memories: 2,
        max_tables: 2,
        max_data_segments: 2,
        max_instructions: 200,
        bulk_memory_enabled: true,
        reference_types_enabled: seed.is_multiple_of(4),
        simd_enabled: seed.is_multiple_of(3),
        tail_call_enabled: seed.is_multiple_of(2),
        // Features that components or the host's engine reject would only leave fewer modules.
        exceptions_enabled: false,
        gc_enabled: false,
        memory64_enabled: false,
        shared_everything_threads_enabled: false,
        threads_enabled: false,
        custom_page_sizes_enabled: false,
        wide_arithmetic_enabled: false,
        allow_start_export: seed.is_multiple_of(7),
        ..Config::default()
    };
    let noise = Noise::new(seed).bytes(4096);
    let module = Module::new(config, &mut Unstructured::new(&noise)).ok()?;
    let text = wasmprinter::print_bytes(module.to_bytes()).ok()?;
    wrap.component(&hook(&text, all, seed)?).ok()
}

/// Returns a random module in text form with the rest of a hook after it: the indexes of its own definitions
/// stay.
fn hook(text: &str, all: bool, seed: u64) -> Option<String> {
    let mut lines: Vec<&str> = text.trim().strip_suffix(')')?.lines().skip(1).collect();
    let mut memory = "(memory (export \"memory\") 3)";
    for line in &mut lines {
        if line.trim_start().starts_with("(memory (;0;)") {
            *line = "(memory (;0;) (export \"memory\") 3)";
            memory = "";
        }
    }
    let mut fields = lines.join("\n");
    if !all {
        let export = fields.lines().find_map(|line| line.trim().strip_prefix("(export \"random\" (func "))?;
        let number = export.trim_end_matches(')').to_owned();
        let run = RUNS[usize::try_from(seed % 2).ok()?].replace("$random", &number);
        fields = format!("{fields}\n{run}");
    }
    let exported = ["#run", "#describe", "cabi_realloc"].map(|name| format!("{name}\" (func"));
    let exported = exported.iter().all(|it| fields.contains(it));
    // The template recognises an export of a random module by a comment: the module has it in another form.
    let known = if all && exported {
        ";; (export \"cabi_realloc\") (export \"hookbox:hook/hook@0.2.0#run\") \
         (export \"hookbox:hook/hook@0.2.0#describe\")\n"
    } else {
        ""
    };
    Some(template::module(&format!("{known}{fields}\n{memory}")))
}

/// Numbers that look random and are the same for the same seed (splitmix64).
pub(crate) struct Noise(u64);

impl Noise {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d).wrapping_add(1))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below this one, which is not 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap_or_default()
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}
