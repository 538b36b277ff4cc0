//! The output of `bindgen!` for the WIT package: the part that hookbox implements itself. wasmtime's own
//! crates link WASI.

#![allow(missing_docs, reason = "generated from wit/, where everything is documented")]
#![allow(clippy::all, reason = "generated code")]

wasmtime::component::bindgen!({
    path: "wit",
    inline: "
        package hookbox:host;

        world hook-host {
            import hookbox:hook/types@0.2.0;
            import hookbox:hook/facts@0.2.0;
            import hookbox:hook/work-tree@0.2.0;
            import wasi:logging/logging@0.1.0-draft;
            import wasi:config/store@0.2.0-rc.1;
            import wasi:keyvalue/store@0.2.0-draft;
            import wasi:keyvalue/atomics@0.2.0-draft;
            import wasi:keyvalue/batch@0.2.0-draft;
            export hookbox:hook/hook@0.2.0;
        }
    ",
    world: "hookbox:host/hook-host",
    imports: {
        // A function that copies data lets other tasks run (`CallState::breathe`).
        "hookbox:hook/types.[method]document.get": async | trappable,
        "hookbox:hook/types.[method]document.text": async | trappable,
        // Their fuel needs the store (`link_facts`).
        "hookbox:hook/facts.read-line": async | trappable,
        "hookbox:hook/facts.read-call": async | trappable,
        // Functions that read files let other tasks run.
        "hookbox:hook/work-tree.tree": async | trappable,
        "hookbox:hook/work-tree.is-pushed": async | trappable,
        "hookbox:hook/work-tree.path": async | trappable,
        "wasi:logging/logging.log": async | trappable,
        "wasi:config/store.get": async | trappable,
        "wasi:config/store.get-all": async | trappable,
        // A function that waits for the database ends with the call's deadline.
        "wasi:keyvalue/store.[method]bucket.get": async | trappable,
        "wasi:keyvalue/store.[method]bucket.set": async | trappable,
        "wasi:keyvalue/store.[method]bucket.delete": async | trappable,
        "wasi:keyvalue/store.[method]bucket.exists": async | trappable,
        "wasi:keyvalue/store.[method]bucket.list-keys": async | trappable,
        "wasi:keyvalue/atomics.increment": async | trappable,
        "wasi:keyvalue/batch.get-many": async | trappable,
        "wasi:keyvalue/batch.set-many": async | trappable,
        "wasi:keyvalue/batch.delete-many": async | trappable,
        default: trappable,
    },
    exports: { default: async },
    with: {
        "hookbox:hook/types.document": crate::event::Document,
        "wasi:keyvalue/store.bucket": super::bucket::Bucket,
    },
    require_store_data_send: true,
});
