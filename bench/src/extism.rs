//! Extism, the other host of plugins in WebAssembly, through the C interface of its published library: a fresh plugin for
//! each call, from code that is compiled once, with a limit of time, memory and fuel.

#![allow(unsafe_code, reason = "Extism's library has an interface for C; see each SAFETY")]

use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};

use base64::Engine as _;
use hookbox::Document;
use libloading::{Library, library_filename};
use serde_json::json;

use crate::Extent;
use crate::calls::{LINE, before_tool_call, check, input, one_thread, payload, session};
use crate::place::Place;
use crate::row::{Aim, Row, race, timed};

/// Fuel of a call: more than a megabyte of JSON needs.
const FUEL: u64 = 10_000_000_000;

pub(crate) fn rows(extent: Extent, place: &Place) -> Vec<Row> {
    let library = Path::new("extism/extism_sys").join(library_filename("extism_sys"));
    let (Some(library), Some(guest)) =
        (place.peer(&library.to_string_lossy()), place.peer("extism/guest.wasm"))
    else {
        return Vec::new();
    };
    let extism = Extism::new(&library, &std::fs::read(guest).unwrap());
    assert_eq!(extism.call(&payload(&json!({"command": LINE}))), "");
    assert_ne!(extism.call(&payload(&json!({"command": "sudo ls"}))), "");

    let tokio = one_thread();
    let cases = [
        ("guard, 1 KB", "hooks/guardrail.wasm", 1 << 10, 400, Some(6.0)),
        ("guard, 64 KB", "hooks/guardrail.wasm", 64 << 10, 200, Some(1.0)),
        ("guard, 1 MB", "hooks/guardrail.wasm", 1 << 20, 100, Some(100.0)),
        ("whole payload, 1 KB", "test-hooks/whole.wasm", 1 << 10, 400, Some(1.0)),
        ("whole payload, 64 KB", "test-hooks/whole.wasm", 64 << 10, 200, Some(2.5)),
        ("whole payload, 1 MB", "test-hooks/whole.wasm", 1 << 20, 100, Some(1.0)),
    ];
    let mut rows = Vec::new();
    for (name, hook, size, rounds, aim) in cases {
        let session = tokio.block_on(session(&place.target.join(hook), 1, None));
        tokio.block_on(check(&session));
        let input = input(size);
        let payload = payload(&input);
        let times = race(
            extent.rounds(rounds),
            &mut [
                Box::new(|| {
                    // A new one each time: its text is made once, and that counts.
                    let document = Document::new(input.clone());
                    tokio.block_on(before_tool_call(&session, &document))
                }),
                Box::new(|| timed(|| extism.call(&payload))),
            ],
        );
        let [ours, theirs] = &times[..] else { unreachable!() };
        let aim = aim.map(Aim::TimesFaster);
        rows.push(Row::compare(&format!("{name}: Extism"), "µs", ours, theirs, aim));
    }
    rows
}

/// A compiled plugin.
struct Extism {
    new_from_compiled: unsafe extern "C" fn(*const c_void, *mut *mut c_char) -> *mut c_void,
    call: unsafe extern "C" fn(*mut c_void, *const c_char, *const u8, u64) -> i32,
    output_length: unsafe extern "C" fn(*mut c_void) -> u64,
    output_data: unsafe extern "C" fn(*mut c_void) -> *const u8,
    free: unsafe extern "C" fn(*mut c_void),
    /// Never freed: it lives as long as the bench.
    compiled: *const c_void,
    /// Keeps the functions above loaded.
    _library: Library,
}

/// `extism_compiled_plugin_new_with_fuel_limit`: the manifest, host functions, whether there is WASI, fuel, the error.
type Compile = unsafe extern "C" fn(
    *const u8,
    u64,
    *const *const c_void,
    u64,
    bool,
    u64,
    *mut *mut c_char,
) -> *const c_void;

impl Extism {
    fn new(library: &Path, guest: &[u8]) -> Self {
        let manifest = json!({
            "wasm": [{"data": base64::engine::general_purpose::STANDARD.encode(guest)}],
            // 64 MiB, as a hook of hookbox may have.
            "memory": {"max_pages": 1024},
            "timeout_ms": 5_000,
        })
        .to_string();
        // SAFETY: the library comes from Extism's own wheel, whose initialisers have no demands on a caller.
        let library = unsafe { Library::new(library) }.unwrap();
        // SAFETY: the types are those of Extism 1.41's C header, which `cargo xtask bench` installs by its version.
        unsafe {
            let compile = *library.get::<Compile>(c"extism_compiled_plugin_new_with_fuel_limit").unwrap();
            let mut error = null_mut();
            let compiled =
                compile(manifest.as_ptr(), manifest.len() as u64, null(), 0, false, FUEL, &raw mut error);
            // An error is a text that ends with a zero byte.
            assert!(!compiled.is_null(), "{:?}", CStr::from_ptr(error));
            Self {
                new_from_compiled: *library.get(c"extism_plugin_new_from_compiled").unwrap(),
                call: *library.get(c"extism_plugin_call").unwrap(),
                output_length: *library.get(c"extism_plugin_output_length").unwrap(),
                output_data: *library.get(c"extism_plugin_output_data").unwrap(),
                free: *library.get(c"extism_plugin_free").unwrap(),
                compiled,
                _library: library,
            }
        }
    }

    /// Calls the guest in a plugin of its own, and returns its answer.
    fn call(&self, payload: &str) -> String {
        let mut error = null_mut();
        // SAFETY: the compiled plugin is alive, the plugin is used by this thread only and freed once, the payload outlives
        // the call, and the output is copied before the plugin is freed.
        unsafe {
            let plugin = (self.new_from_compiled)(self.compiled, &raw mut error);
            assert!(!plugin.is_null(), "{:?}", CStr::from_ptr(error));
            let code = (self.call)(plugin, c"check".as_ptr(), payload.as_ptr(), payload.len() as u64);
            assert_eq!(code, 0, "the plugin failed");
            let length = usize::try_from((self.output_length)(plugin)).unwrap();
            let answer = if length == 0 {
                String::new()
            } else {
                let output = std::slice::from_raw_parts((self.output_data)(plugin), length);
                String::from_utf8_lossy(output).into_owned()
            };
            (self.free)(plugin);
            answer
        }
    }
}
