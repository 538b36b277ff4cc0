//! `cargo xtask release`: everything that a release is made of, in `target/release-files`.
//!
//! The programs for Linux are static: they start on every distribution. zig compiles their C code, also for another processor,
//! and Rust's own linker links them. The programs for macOS need its SDK and are built there.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::tools::{Venv, require};
use super::{Tree, emptied, run};

/// The targets of Linux.
const LINUX: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];

/// The targets of macOS.
const MACOS: [&str; 2] = ["aarch64-apple-darwin", "x86_64-apple-darwin"];

/// The packages of Python that make a release, pinned.
const PYTHON: [&str; 4] = ["auditwheel==6.8.2", "cargo-zigbuild==0.24.1", "wheel==0.48.0", "ziglang==0.17.1"];

/// The program that writes the list of a program's crates, pinned.
const SBOM: (&str, &str) = ("cargo-cyclonedx", "0.5.9");

impl Tree {
    /// Makes the files of a release, for these targets, or for all that can be built here.
    pub(super) fn release(&self, targets: &[&str]) -> Result<(), Box<dyn Error>> {
        let all: Vec<&str> = if cfg!(target_os = "macos") {
            MACOS.to_vec()
        } else {
            eprintln!("left out: {}: their SDK is on macOS only", MACOS.join(", "));
            LINUX.to_vec()
        };
        let targets = if targets.is_empty() { &all } else { targets };
        self.texts()?;
        self.sbom()?;
        let venv = self.release_venv()?;
        let mut programs = Vec::new();
        for target in targets {
            eprintln!("{target}: build");
            programs.push(((*target).to_owned(), self.dist_for(target, &venv)?));
        }
        self.finish(&venv, &programs)
    }

    /// Makes the files of a release with the programs of archives that several machines made.
    pub(super) fn join_release(&self, directory: &str) -> Result<(), Box<dyn Error>> {
        let unpacked = self.target.join("release-joined");
        let mut programs = Vec::new();
        let prefix = format!("hookbox-{}-", env!("CARGO_PKG_VERSION"));
        for archive in files(Path::new(directory), "gz")? {
            let name = archive.file_name().and_then(|it| it.to_str()).unwrap_or_default();
            let Some(target) = name.strip_prefix(&prefix).and_then(|it| it.strip_suffix(".tar.gz")) else {
                continue;
            };
            fs::create_dir_all(&unpacked)?;
            run(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&unpacked), "unpack an archive")?;
            programs.push((target.to_owned(), unpacked.join(format!("{prefix}{target}/hookbox"))));
        }
        if programs.is_empty() {
            return Err(format!("{directory}: expected archives {prefix}TARGET.tar.gz, found none").into());
        }
        self.texts()?;
        self.sbom()?;
        self.finish(&self.release_venv()?, &programs)
    }

    fn finish(&self, venv: &Venv, programs: &[(String, PathBuf)]) -> Result<(), Box<dyn Error>> {
        let out = self.pack(venv, programs)?;
        for wheel in files(&out, "whl")? {
            run(venv.command("auditwheel").arg("show").arg(&wheel), "check the tags of a wheel")?;
        }
        println!("{}", out.display());
        Ok(())
    }

    /// Makes the wheel and the packages of npm and Debian with the program of the tests, installs them, and uses them.
    pub(super) fn check_release(&self) -> Result<(), Box<dyn Error>> {
        let venv = self.release_venv()?;
        let program = self.target.join("debug/hookbox");
        let stripped = self.target.join("debug/hookbox-stripped");
        let mut strip = Command::new("strip");
        run(strip.arg("-o").arg(&stripped).arg(&program), "strip the program")?;
        let target = format!("{}-unknown-linux-gnu", env::consts::ARCH);
        self.texts()?;
        let out = self.pack(&venv, &[(target.clone(), stripped)])?;
        self.check_binstall(&out, &target)?;

        let home = self.target.join("release-check");
        emptied(&home)?;
        let python = home.join("python");
        run(Command::new("python3").args(["-m", "venv"]).arg(&python), "make a venv")?;
        let mut pip = Command::new(python.join("bin/pip"));
        pip.args(["--quiet", "--disable-pip-version-check", "install", "--no-index", "--find-links"])
            .arg(&out);
        run(pip.arg("hookbox"), "install the wheel")?;
        try_out(&python.join("bin/hookbox"), &home.join("of-python"))?;
        // Each client finds the program of its own package.
        let code = "import hookbox; hooks = hookbox.Hookbox(); hooks.start(); hooks.close(); \
                    assert not hooks.problems, hooks.problems";
        try_client(Command::new(python.join("bin/python")).args(["-c", code]), &home.join("of-python"))?;

        for package in files(&out, "deb")? {
            let debian = home.join("debian");
            let mut unpack = Command::new("dpkg-deb");
            run(unpack.arg("--extract").arg(package).arg(&debian), "unpack the Debian package")?;
            try_out(&debian.join("usr/bin/hookbox"), &home.join("of-debian"))?;
        }

        let node = home.join("node");
        fs::create_dir_all(&node)?;
        fs::write(node.join("package.json"), "{\"private\":true}\n")?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--offline", "--no-audit", "--no-fund", "--silent"]).args(files(&out, "tgz")?);
        run(npm.current_dir(&node), "install the packages of npm")?;
        try_out(&node.join("node_modules/.bin/hookbox"), &home.join("of-node"))?;
        let code = "import { Hookbox } from 'hookbox'; const hooks = new Hookbox(); await hooks.start(); \
                    await hooks.close(); if (hooks.problems.length) throw new Error(hooks.problems.join());";
        fs::write(node.join("client.mjs"), code)?;
        try_client(Command::new("node").arg(node.join("client.mjs")), &home.join("of-node"))?;
        fs::remove_dir_all(&home)?;
        Ok(())
    }

    /// Finds the archive of a target, and the program in it, as `cargo binstall` does: by the metadata of the crate.
    fn check_binstall(&self, out: &Path, target: &str) -> Result<(), Box<dyn Error>> {
        let manifest = fs::read_to_string(self.root.join("cli/Cargo.toml"))?;
        let value = |key: &str| {
            let of_key = |line: &str| {
                Some(line.strip_prefix(key)?.strip_prefix(" = \"")?.trim_end_matches('"').to_owned())
            };
            let text = manifest.lines().find_map(of_key).ok_or(format!("cli/Cargo.toml: no {key}"))?;
            let text = text.replace("{ version }", env!("CARGO_PKG_VERSION")).replace("{ target }", target);
            Ok::<_, String>(text.replace("{ bin }", "hookbox").replace("{ binary-ext }", ""))
        };
        let (url, program) = (value("pkg-url")?, value("bin-dir")?);
        let archive = out.join(url.rsplit('/').next().unwrap_or_default());
        let listed = Command::new("tar").arg("-tzf").arg(&archive).output()?.stdout;
        if !String::from_utf8(listed)?.lines().any(|it| it == program) {
            return Err(format!(
                "{}: cargo binstall expects {program} in it, and finds none",
                archive.display()
            )
            .into());
        }
        Ok(())
    }

    /// Makes the environment with the tools of a release.
    fn release_venv(&self) -> Result<Venv, Box<dyn Error>> {
        Venv::with(self.root.join("target/tools/release"), &PYTHON)
    }

    /// Writes the files of a release with these programs.
    fn pack(&self, venv: &Venv, programs: &[(String, PathBuf)]) -> Result<PathBuf, Box<dyn Error>> {
        require("npm", "--version", "apt-get install npm")?;
        self.client()?;
        let out = self.target.join("release-files");
        let mut pack = venv.command("python");
        pack.arg(self.root.join("xtask/release/pack.py"))
            .arg(&out)
            .arg(env!("CARGO_PKG_VERSION"))
            .arg(&self.root);
        for (target, program) in programs {
            pack.arg(format!("{target}={}", program.display()));
        }
        run(&mut pack, "pack the programs")?;
        Ok(out)
    }

    /// Compiles the client of TypeScript for the package of npm.
    fn client(&self) -> Result<(), Box<dyn Error>> {
        self.tools()?;
        let out = self.target.join("release-client");
        emptied(&out)?;
        let modules = self.root.join("target/tools/node_modules");
        let mut tsc = Command::new("node");
        tsc.arg(modules.join("typescript/bin/tsc"))
            .arg("--project")
            .arg(self.root.join("clients/typescript/tsconfig.release.json"))
            .arg("--outDir")
            .arg(&out)
            .arg("--typeRoots")
            .arg(modules.join("@types"));
        run(&mut tsc, "compile the client of TypeScript")
    }

    /// Writes the completions and the manual pages, with the program of the tests.
    fn texts(&self) -> Result<(), Box<dyn Error>> {
        let texts = self.target.join("release-texts");
        let (completions, man) = (texts.join("completions"), texts.join("man"));
        fs::create_dir_all(&completions)?;
        fs::create_dir_all(&man)?;
        let program = self.target.join("debug/hookbox");
        for (shell, name) in [("bash", "hookbox.bash"), ("zsh", "_hookbox"), ("fish", "hookbox.fish")] {
            let output = Command::new(&program).args(["completions", shell]).output()?;
            fs::write(completions.join(name), output.stdout)?;
        }
        run(Command::new(&program).args(["man", "--write"]).arg(&man), "write the manual pages")
    }

    /// Writes the list of the program's crates beside the texts.
    fn sbom(&self) -> Result<(), Box<dyn Error>> {
        let (name, version) = SBOM;
        let root = self.root.join("target/tools/release");
        if !root.join("bin").join(name).exists() {
            let mut install = super::cargo();
            install.args(["install", "--quiet", "--locked", name, "--version", version, "--root"]).arg(&root);
            run(install.env("CARGO_TARGET_DIR", root.join("build")), "install the writer of the SBOM")?;
        }
        let mut write = Command::new(root.join("bin").join(name));
        write.args(["cyclonedx", "--format", "json", "--override-filename", "hookbox.cdx"]);
        run(write.current_dir(&self.root).stdout(Stdio::null()), "write the SBOM")?;
        // It writes one for each crate of the workspace.
        let metadata = super::cargo()
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .current_dir(&self.root)
            .output()?;
        let text = String::from_utf8(metadata.stdout)?;
        let manifests = text.split("\"manifest_path\":\"").skip(1).filter_map(|it| it.split('"').next());
        for directory in manifests.filter_map(|it| Path::new(it).parent()) {
            let list = directory.join("hookbox.cdx.json");
            if directory.ends_with("cli") {
                fs::copy(&list, self.target.join("release-texts/hookbox.cdx.json"))?;
            }
            fs::remove_file(&list)?;
        }
        Ok(())
    }
}

/// Guards an agent in an empty home directory, and tries it.
fn try_out(program: &Path, home: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(home.join(".claude"))?;
    let hookbox = || {
        let mut command = Command::new(program);
        command.current_dir(home).env_clear().env("HOME", home);
        command.env("PATH", env::var_os("PATH").unwrap_or_default());
        command
    };
    run(hookbox().args(["setup", "--yes", "--agent", "claude"]), "set up Claude Code")?;
    run(hookbox().args(["doctor", "claude"]).stdout(Stdio::null()), "check Claude Code")?;
    run(hookbox().args(["remove", "--all", "--yes"]).stdout(Stdio::null()), "remove hookbox")
}

/// Runs a program that uses a client, in an empty home directory.
fn try_client(command: &mut Command, home: &Path) -> Result<(), Box<dyn Error>> {
    run(command.current_dir(home).env("HOME", home), "start the program with a client")
}

/// Returns the files of a directory with this ending.
fn files(directory: &Path, ending: &str) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let all = super::files(directory)?.into_iter().map(|name| directory.join(name));
    Ok(all.filter(|path| path.extension().is_some_and(|it| it == ending)).collect())
}
