"""Packs programs as people get them: archives, Debian packages, wheels for PyPI, packages for npm, a formula for Homebrew.

The same programs give the same bytes: every file has one time, one owner and one mode.

usage: pack.py OUT VERSION ROOT TARGET=PROGRAM...
"""

import gzip
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

from wheel.wheelfile import WheelFile

SUMMARY = "Guardrails for coding agents: sandboxed hooks"
HOME = "https://github.com/hookbox/hookbox"

# 2026-01-01, in seconds: zip has no time before 1980.
TIME = int(os.environ.get("SOURCE_DATE_EPOCH", "1767225600"))

# For each target: the tags of its wheel, and the system and the processor as npm names them. A static program runs with any
# libc, but pip refuses a wheel that names musl alone on a system with glibc.
TARGETS = {
    "x86_64-unknown-linux-musl": (["manylinux_2_17_x86_64", "musllinux_1_2_x86_64"], "linux", "x64"),
    "aarch64-unknown-linux-musl": (["manylinux_2_17_aarch64", "musllinux_1_2_aarch64"], "linux", "arm64"),
    "x86_64-apple-darwin": (["macosx_11_0_x86_64"], "darwin", "x64"),
    "aarch64-apple-darwin": (["macosx_11_0_arm64"], "darwin", "arm64"),
    # Built on this machine and for it, to check the packages.
    "x86_64-unknown-linux-gnu": (["linux_x86_64"], "linux", "x64"),
    "aarch64-unknown-linux-gnu": (["linux_aarch64"], "linux", "arm64"),
}
LICENSES = ["LICENSE-APACHE", "LICENSE-MIT"]
# The processors of Debian packages.
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}


class Release:
    def __init__(self, out: Path, version: str, root: Path, programs: dict[str, Path]) -> None:
        self.out, self.version, self.root, self.programs = out, version, root, programs
        self.texts = out.parent / "release-texts"
        # The client of TypeScript, compiled.
        self.client = out.parent / "release-client"

    def pack(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True)
        for target, program in self.programs.items():
            self.archive(target, program)
            self.debian(target, program)
            self.wheel(target, program)
            self.npm_program(target, program)
        self.npm()
        self.formula()
        shutil.copy(self.root / "xtask/release/Dockerfile", self.out)
        for file in self.texts.glob("*.json"):
            shutil.copy(file, self.out)
        self.checksums()

    def archive(self, target: str, program: Path) -> None:
        """An archive with the program, its completions and manual pages, the list of its crates, and the licenses."""
        name = f"hookbox-{self.version}-{target}"
        tree = self.tree(name)
        install(program, tree / "hookbox")
        for file in ["README.md", *LICENSES]:
            shutil.copy(self.root / file, tree)
        shutil.copytree(self.texts, tree, dirs_exist_ok=True)
        with open(self.out / f"{name}.tar.gz", "wb") as raw:
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=TIME) as zipped:
                with tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive:
                    for path in sorted([tree, *tree.rglob("*")]):
                        archive.add(path, path.relative_to(tree.parent), recursive=False, filter=plain)
        shutil.rmtree(tree.parent)

    def debian(self, target: str, program: Path) -> None:
        """A Debian package. An administrator switches its timer on: `systemctl enable --now hookbox-sync.timer`."""
        processor, _, system = target.split("-")[:3]
        if system != "linux":
            return
        if shutil.which("dpkg-deb") is None:
            print(f"left out: the Debian package for {target}: dpkg-deb is not here", file=sys.stderr)
            return
        tree = self.tree("debian")
        install(program, tree / "usr/bin/hookbox")
        share, texts = tree / "usr/share", self.texts / "completions"
        install(texts / "hookbox.bash", share / "bash-completion/completions/hookbox", 0o644)
        install(texts / "_hookbox", share / "zsh/vendor-completions/_hookbox", 0o644)
        install(texts / "hookbox.fish", share / "fish/vendor_completions.d/hookbox.fish", 0o644)
        for page in (self.texts / "man").iterdir():
            write(share / f"man/man1/{page.name}.gz", gzip.compress(page.read_bytes(), mtime=0))
        about = share / "doc/hookbox"
        write(about / "changelog.gz", gzip.compress((self.root / "CHANGELOG.md").read_bytes(), mtime=0))
        licenses = "\n".join((self.root / file).read_text() for file in LICENSES)
        write(about / "copyright", f"{HOME}\nLicensed under Apache-2.0 or MIT, at your option.\n\n{licenses}".encode())
        for unit in ["hookbox-sync.service", "hookbox-sync.timer"]:
            install(self.root / "xtask/release" / unit, tree / "usr/lib/systemd/system" / unit, 0o644)
        size = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file()) // 1024
        write(
            tree / "DEBIAN/control",
            (
                f"Package: hookbox\nVersion: {self.version}\nArchitecture: {DEBIAN[processor]}\nSection: utils\n"
                f"Priority: optional\nInstalled-Size: {size}\nHomepage: {HOME}\nMaintainer: The hookbox authors <{HOME}>\n"
                f"Recommends: ca-certificates, git\nDescription: {SUMMARY}\n"
                " hookbox blocks a dangerous tool call of a coding agent before it runs, and tells the model why.\n"
            ).encode(),
        )
        for path in [tree, *tree.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
        os.environ["SOURCE_DATE_EPOCH"] = str(TIME)
        out = self.out / f"hookbox_{self.version}_{DEBIAN[processor]}.deb"
        command = ["dpkg-deb", "--root-owner-group", "--build", str(tree), str(out)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(tree.parent)

    def wheel(self, target: str, program: Path) -> None:
        """A wheel with the client of Python. It puts the program into the directory of scripts, without an interpreter."""
        tags = TARGETS[target][0]
        tree = self.tree("wheel")
        install(program, tree / f"hookbox-{self.version}.data/scripts/hookbox")
        copy(self.root / "clients/python/hookbox", tree / "hookbox", ["*.py", "py.typed"])
        about = tree / f"hookbox-{self.version}.dist-info"
        (about / "licenses").mkdir(parents=True)
        for file in LICENSES:
            shutil.copy(self.root / file, about / "licenses")
        licenses = "".join(f"License-File: {file}\n" for file in LICENSES)
        readme = absolute_links((self.root / "README.md").read_text())
        (about / "METADATA").write_text(
            f"Metadata-Version: 2.4\nName: hookbox\nVersion: {self.version}\nSummary: {SUMMARY}\n"
            f"License-Expression: Apache-2.0 OR MIT\n{licenses}Project-URL: Repository, {HOME}\n"
            "Requires-Python: >=3.10\n"
            f"Description-Content-Type: text/markdown\n\n{readme}"
        )
        lines = "".join(f"Tag: py3-none-{tag}\n" for tag in tags)
        (about / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: hookbox\nRoot-Is-Purelib: false\n{lines}")
        os.environ["SOURCE_DATE_EPOCH"] = str(TIME)
        with WheelFile(self.out / f"hookbox-{self.version}-py3-none-{'.'.join(tags)}.whl", "w") as wheel:
            wheel.write_files(tree)
        shutil.rmtree(tree.parent)

    def npm_program(self, target: str, program: Path) -> None:
        """A package of npm with the program for one system."""
        _, system, processor = TARGETS[target]
        tree = self.tree("package")
        install(program, tree / "hookbox")
        self.npm_pack(
            tree,
            {
                "name": f"@hookbox/{system}-{processor}",
                "description": f"The program hookbox for {system}-{processor}",
                "os": [system],
                "cpu": [processor],
                "files": ["hookbox", *LICENSES],
                "preferUnplugged": True,
            },
        )

    def npm(self) -> None:
        """The package of npm that people name: the client, and a launcher of the program.

        npm installs the program of their system with it, and runs no script.
        """
        tree = self.tree("package")
        client = json.loads((self.root / "clients/typescript/package.json").read_text())
        if client["version"] != self.version:
            raise SystemExit(f"error: clients/typescript/package.json: expected version {self.version}")
        copy(self.client / "src", tree / "dist/src", ["*.js", "*.d.ts"])
        for export in client["exports"].values():
            for path in export.values():
                if not (tree / path).exists():
                    raise SystemExit(f"error: clients/typescript/package.json: exports {path}, which is not compiled")
        shutil.copy(self.root / "xtask/release/hookbox.cjs", tree)
        (tree / "README.md").write_text(absolute_links((self.root / "README.md").read_text()))
        systems = {TARGETS[target][1:] for target in self.programs}
        programs = {f"@hookbox/{system}-{processor}": self.version for system, processor in sorted(systems)}
        self.npm_pack(
            tree,
            {
                "name": "hookbox",
                "description": SUMMARY,
                "bin": {"hookbox": "hookbox.cjs"},
                **{key: client[key] for key in ["type", "exports", "types", "sideEffects", "engines"]},
                "files": ["hookbox.cjs", *client["files"], *LICENSES],
                "optionalDependencies": programs,
            },
        )

    def npm_pack(self, tree: Path, about: dict[str, object]) -> None:
        for file in LICENSES:
            shutil.copy(self.root / file, tree)
        about = {
            **about,
            "version": self.version,
            "license": "Apache-2.0 OR MIT",
            "repository": {"type": "git", "url": f"git+{HOME}.git"},
        }
        (tree / "package.json").write_text(json.dumps(about, indent=2) + "\n")
        command = ["npm", "pack", "--silent", "--pack-destination", str(self.out)]
        subprocess.run(command, cwd=tree, check=True, stdout=subprocess.DEVNULL)
        shutil.rmtree(tree.parent)

    def formula(self) -> None:
        """The formula of Homebrew, with the checksum of each archive. A target that was not built here is left out."""
        text = (self.root / "xtask/release/hookbox.rb").read_text().replace("@VERSION@", self.version)
        lines = []
        for line in text.splitlines():
            target = re.search(r"@SHA256 (\S+)@", line)
            if target:
                archive = self.out / f"hookbox-{self.version}-{target[1]}.tar.gz"
                if not archive.exists():
                    # The address is in the line before.
                    lines.pop()
                    continue
                line = line.replace(target[0], digest(archive))
            lines.append(line)
        (self.out / "hookbox.rb").write_text("\n".join(lines) + "\n")

    def checksums(self) -> None:
        files = sorted(path for path in self.out.iterdir() if path.is_file())
        lines = [f"{digest(path)}  {path.name}\n" for path in files]
        (self.out / "SHA256SUMS").write_text("".join(lines))

    def tree(self, name: str) -> Path:
        tree = self.out / "tree" / name
        tree.mkdir(parents=True)
        return tree


def install(file: Path, path: Path, mode: int = 0o755) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, path)
    path.chmod(mode)


def write(path: Path, text: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    path.chmod(0o644)


def copy(source: Path, to: Path, patterns: list[str]) -> None:
    """Copies the files below a directory that match a pattern. There is at least one for each."""
    for pattern in patterns:
        files = sorted(source.rglob(pattern))
        if not files:
            raise SystemExit(f"error: {source}: expected files {pattern}, found none")
        for file in files:
            install(file, to / file.relative_to(source), 0o644)


def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    entry.mtime = TIME
    entry.mode = 0o755 if entry.mode & stat.S_IXUSR else 0o644
    return entry


def absolute_links(text: str) -> str:
    """A registry shows the page outside of the repository."""
    raw = HOME.replace("github.com", "raw.githubusercontent.com")
    text = re.sub(r"(!\[[^]]*\]\()(?!https?:)", rf"\1{raw}/main/", text)
    return re.sub(r"(?<!!)(\[[^]]*\]\()(?!https?:|#)", rf"\1{HOME}/blob/main/", text)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    out, version, root, *programs = sys.argv[1:]
    named = (it.split("=", 1) for it in programs)
    Release(Path(out), version, Path(root), {target: Path(path) for target, path in named}).pack()


main()
