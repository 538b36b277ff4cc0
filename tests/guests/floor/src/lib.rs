//! The lower bound of the bench: a guest that gets the whole payload, parses it and reads one field, with one
//! function as its interface. Any guest that gets the payload does at least this.

mod bindings {
    #![allow(missing_docs, reason = "generated")]

    wit_bindgen::generate!({
        inline: "
            package bench:floor;

            world floor {
                export check: func(payload: string) -> option<string>;
            }
        ",
    });
}

struct Floor;

impl bindings::Guest for Floor {
    fn check(payload: String) -> Option<String> {
        let payload: serde_json::Value = serde_json::from_str(&payload).ok()?;
        let command = payload.pointer("/tool_input/command")?.as_str()?;
        ["rm -rf", "sudo", "curl | bash", "wget | sh"]
            .into_iter()
            .find(|denied| command.contains(denied))
            .map(|denied| format!("Security policy: '{denied}' is not allowed"))
    }
}

bindings::export!(Floor with_types_in bindings);
