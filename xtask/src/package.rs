//! Packages the published crates: `cargo xtask package`.

use std::error::Error;
use std::fs;
use std::process::Command;

use super::{Tree, cargo, emptied, run};

/// The crates that are published, each after those that it needs.
const PUBLISHED: &str = "hookbox-redact hookbox-shell hookbox-calls hookbox-system hookbox hookbox-journal hookbox-agents \
    hookbox-guards hookbox-plugins hookbox-authoring hookbox-sdk hookbox-cli";

/// The directory of the crate that carries the guards.
const CARRIER: &str = "crates/guards";

impl Tree {
    /// Packages the published crates and compiles the unpacked packages as one workspace, so that a file or a crate that
    /// only the repository has is noticed.
    pub(super) fn package(&self) -> Result<(), Box<dyn Error>> {
        self.carry_guards()?;
        let mut command = cargo();
        command.current_dir(&self.root).args(["package", "--no-verify", "--allow-dirty", "--quiet"]);
        command.arg("--target-dir").arg(&self.target);
        for name in PUBLISHED.split(' ') {
            command.args(["--package", name]);
        }
        run(&mut command, "package the crates")?;

        let unpacked = self.target.join("package/unpacked");
        emptied(&unpacked)?;
        let version = env!("CARGO_PKG_VERSION");
        let mut manifest =
            "[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n\n[patch.crates-io]\n".to_owned();
        for name in PUBLISHED.split(' ') {
            let directory = format!("{name}-{version}");
            let archive = self.target.join(format!("package/{directory}.crate"));
            let mut command = Command::new("tar");
            // The time of now: a package has one time for all files, by which cargo sees no change.
            run(command.arg("-xzmf").arg(&archive).arg("-C").arg(&unpacked), "unpack a crate")?;
            manifest.push_str(&format!("{name} = {{ path = \"{directory}\" }}\n"));
        }
        // With the profiles of this workspace its compiled dependencies serve here, too.
        let root = fs::read_to_string(self.root.join("Cargo.toml"))?;
        let (_, profiles) = root.split_once("\n[profile.").ok_or("Cargo.toml has no profiles")?;
        manifest.push_str(&format!("\n[profile.{profiles}"));
        fs::write(unpacked.join("Cargo.toml"), manifest)?;
        fs::copy(self.root.join("Cargo.lock"), unpacked.join("Cargo.lock"))?;
        let mut command = cargo();
        command.current_dir(&self.root).args(["check", "--workspace", "--target-dir"]).arg(&self.target);
        command.arg("--manifest-path").arg(unpacked.join("Cargo.toml"));
        run(&mut command, "compile the packages")
    }

    /// Builds the guards and the parts of services, and puts them where their crate has them in a package.
    fn carry_guards(&self) -> Result<(), Box<dyn Error>> {
        self.components("guards", "guards")?;
        for part in self.crates("guards/service")? {
            self.component("guards", "service", &part)?;
        }
        let carried = self.root.join(CARRIER).join("carried");
        emptied(&carried)?;
        for built in ["guards", "service"].map(|it| self.target.join(it)) {
            for file in
                super::files(&built)?.iter().filter(|it| it.extension().is_some_and(|it| it == "wasm"))
            {
                fs::copy(built.join(file), carried.join(file))?;
            }
        }
        Ok(())
    }
}
