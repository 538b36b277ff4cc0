//! `cargo xtask bench`: builds hookbox, the hooks and what people would use instead, and runs the crate `bench`.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::tools::{Venv, require};
use crate::{Tree, cargo, run};

/// The wheel with Extism's library, and the package of a guard for agents.
const EXTISM: &str = "extism-sys==1.41.0";
const SAFETY_NET: &str = "cc-safety-net@2.4.5";

/// Builds without optimization, which shows that no bench is broken. Its numbers mean nothing.
const UNOPTIMIZED: &str = "--unoptimized";

/// The types of OTLP, for the collector of the demo.
const OTLP: &str = "opentelemetry-proto==1.45.2";

/// Makes the place of the demo, and starts it with the rest of the arguments. The shell stays: it is the first process of its
/// namespace, which would ignore Ctrl-C.
const NAMESPACES: &str = r#"
umask 022
program=$1; shift
ip link set lo up && mount -t tmpfs -o mode=755 none "$0" && mkdir -p "$0/etc/hookbox" || exit
mount -t overlay -o lowerdir="$0/etc":/etc overlay /etc && mount --bind "$0/etc/hookbox" /etc/hookbox || exit
touch "$0/hookbox" && mount --bind "$program" "$0/hookbox" || exit
"$@"
exit $?"#;

/// The target of Extism's plugins.
const PLUGIN: &str = "wasm32-unknown-unknown";

impl Tree {
    /// Builds everything that the bench compares, and runs it. `--quick` does without the network and the packaged program.
    pub(crate) fn bench(&self, args: &[&str]) -> Result<(), Box<dyn Error>> {
        if args.contains(&"--guards") {
            self.component("sample-hooks", "hooks", "guardrail")?;
            self.components("guards", "guards")?;
            return run(&mut self.bench_program(args)?, "measure the guards");
        }
        self.components("sample-hooks", "hooks")?;
        self.components("guards", "guards")?;
        self.twins(if args.contains(&UNOPTIMIZED) { "dev" } else { "release" }, "hooks/native")?;
        self.test_hooks()?;
        if !args.contains(&"--quick") {
            self.dist()?;
            for (name, peer) in [("Extism", self.extism()), (SAFETY_NET, self.safety_net().map(drop))] {
                if let Err(error) = peer {
                    eprintln!("warning: {name} is left out: {error}");
                }
            }
        }
        run(&mut self.bench_program(args)?, "measure")
    }

    /// Composes a guard into a service, and sends it the calls of many sessions: 2,000, or as many as the last argument says.
    /// With `--demo` the service is a part of a whole fleet.
    pub(crate) fn fleet(&self, args: &[&str]) -> Result<(), Box<dyn Error>> {
        require("haproxy", "-v", "apt-get install haproxy")?;
        let wasmtime = self.wasmtime()?;
        self.component("guards", "guards", "secrets")?;
        self.programs(&["hookbox"])?;
        let (guard, service) =
            (self.target.join("guards/secrets.wasm"), self.target.join("bench/service.wasm"));
        fs::create_dir_all(self.target.join("bench"))?;
        let mut compose = Command::new(self.target.join("debug/hookbox"));
        compose.args(["--quiet", "compose", "--http", "-o"]).args([&service, &guard]).stdout(Stdio::null());
        run(&mut compose, "compose the service")?;
        if args == ["--demo"] {
            return self.fleet_demo(&wasmtime, &service);
        }
        let sessions = args.iter().find(|it| **it != UNOPTIMIZED).unwrap_or(&"2000");
        let how: &[&str] = if args.contains(&UNOPTIMIZED) { &[UNOPTIMIZED] } else { &[] };
        let mut program = self.bench_program(how)?;
        run(program.arg("fleet").args([&wasmtime, &service, &guard]).arg(sessions), "get every verdict right")
    }

    /// Shows a fleet whose parts are killed. It runs in namespaces, so that its `/etc/hookbox`, its network, its files and all
    /// of its processes end with it.
    fn fleet_demo(&self, wasmtime: &Path, service: &Path) -> Result<(), Box<dyn Error>> {
        if Command::new("id").arg("-u").output()?.stdout != b"0\n" {
            let needs = "the demo needs root, for its two users and its own /etc/hookbox";
            return Err(format!("{needs}\nhint: sudo -E env PATH=\"$PATH\" cargo xtask fleet --demo").into());
        }
        require("docker-registry", "--version", "apt-get install docker-registry")?;
        require("openssl", "version", "apt-get install openssl")?;
        require("ip", "-V", "apt-get install iproute2")?;
        let tools = self.root.join("target/tools");
        let pins = fs::read_to_string(self.root.join("examples/fleet/requirements.txt"))?;
        // Not one environment: Ray takes any package of OpenTelemetry for all of them.
        let ray = Venv::with(tools.join("ray"), &pins.lines().collect::<Vec<_>>())?;
        let otlp = Venv::with(tools.join("otlp"), &[OTLP])?;
        let program = self.bench_program(&[UNOPTIMIZED])?;
        let dir = env::temp_dir().canonicalize()?.join(format!("hookbox-fleet-{}", std::process::id()));
        fs::create_dir(&dir)?;
        let mut demo = Command::new("setpriv");
        demo.args(["--pdeathsig", "KILL", "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]);
        demo.args(["--mount-proc", "sh", "-c", NAMESPACES]).args([&dir, &self.target.join("debug/hookbox")]);
        demo.arg(program.get_program()).arg("fleet-demo").args([&dir, wasmtime, service]);
        let done = run(demo.args([ray.directory(), otlp.directory()]), "lose nothing");
        fs::remove_dir(&dir)?;
        done
    }

    /// Builds the crate `bench`, and returns its program with these arguments.
    pub(crate) fn bench_program(&self, args: &[&str]) -> Result<Command, Box<dyn Error>> {
        // Cargo's directory for the profile `bench` is that of `release`. With the whole workspace, the packages have the
        // features that the tests have compiled them with.
        let (options, directory): (&[&str], _) = match args.contains(&UNOPTIMIZED) {
            true => (&["--profile", "dev", "--workspace", "--bin", "hookbox-bench"], "debug"),
            false => (&["--profile", "bench", "--package", "hookbox-bench"], "release"),
        };
        let mut build = cargo();
        build.current_dir(&self.root).arg("build").args(options);
        run(&mut build, "build the bench")?;
        let program = format!("{directory}/hookbox-bench{}", env::consts::EXE_SUFFIX);
        let mut command = Command::new(self.target.join(program));
        command.args(args.iter().filter(|arg| **arg != UNOPTIMIZED));
        Ok(command)
    }

    /// Installs Extism's library and builds the guest for it.
    fn extism(&self) -> Result<(), Box<dyn Error>> {
        let dir = self.peer("extism")?;
        if !dir.join("extism_sys").exists() {
            let pip = ["-m", "pip", "download", "--quiet", "--no-deps", "--dest"];
            run(Command::new("python3").args(pip).arg(&dir).arg(EXTISM), "download Extism")?;
            let wheel = fs::read_dir(&dir)?.flatten().map(|entry| entry.path());
            let wheel = wheel.filter(|path| path.extension().is_some_and(|it| it == "whl")).max();
            let unzip = ["-m", "zipfile", "--extract"];
            let wheel = wheel.ok_or("pip has downloaded no wheel")?;
            run(Command::new("python3").args(unzip).args([&wheel, &dir]), "unpack Extism")?;
        }
        run(
            Command::new("rustup").args(["target", "add", PLUGIN]),
            "install the target of Extism's plugins",
        )?;
        let args = ["build", "--release", "--target", PLUGIN, "--package"];
        self.cargo("bench/guest", &args, "extism-floor")?;
        let built = self.guests().join(PLUGIN).join("release/extism_floor.wasm");
        self.install(&built, &dir.join("guest.wasm"))
    }

    /// Installs a guard for agents that npm has, and returns its directory.
    pub(crate) fn safety_net(&self) -> Result<PathBuf, Box<dyn Error>> {
        let dir = self.peer("cc-safety-net")?;
        if !dir.join("node_modules/cc-safety-net").exists() {
            let npm = ["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"];
            run(Command::new("npm").args(npm).arg(&dir).arg(SAFETY_NET), "install it with npm")?;
        }
        Ok(dir)
    }

    /// Makes the directory of a peer.
    fn peer(&self, name: &str) -> Result<PathBuf, Box<dyn Error>> {
        let dir = self.target.join("bench/peers").join(name);
        fs::create_dir_all(&dir)?;
        Ok(dir)
    }
}
