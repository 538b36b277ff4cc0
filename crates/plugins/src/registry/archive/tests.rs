use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, Header};

use super::*;
use crate::{Location, Plugins, Silent, Staged};

/// One entry as a hostile packer writes it: nothing of it is checked.
fn entry(path: &str, kind: EntryType, mode: u32, target: &str, data: &[u8]) -> Vec<u8> {
    let mut header = Header::new_gnu();
    let name = &mut header.as_gnu_mut().unwrap().name;
    name[..path.len()].copy_from_slice(path.as_bytes());
    header.as_gnu_mut().unwrap().linkname[..target.len()].copy_from_slice(target.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(data.len() as u64);
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn file(path: &str, data: &[u8]) -> Vec<u8> {
    entry(path, EntryType::Regular, 0o644, "", data)
}

fn pax(records: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    builder.append_pax_extensions(records.iter().map(|(key, value)| (*key, value.as_bytes()))).unwrap();
    let mut bytes = builder.into_inner().unwrap();
    // Without the end of the archive.
    bytes.truncate(bytes.len() - 1024);
    bytes
}

fn unpacked(
    parts: &[Vec<u8>],
    is_gzip: bool,
    limit: u64,
) -> Result<(tempfile::TempDir, Staged), PluginError> {
    let temp = tempfile::tempdir().unwrap();
    let plugins = Plugins::open(Location::Local, temp.path(), ".hookbox").unwrap();
    let mut stage = Stage::new(&plugins, &Silent).unwrap();
    let layer = stage.scratch().join("layer");
    fs::write(&layer, parts.concat()).unwrap();
    let done = unpack(File::open(layer).unwrap(), is_gzip, limit, &mut stage);
    done.and_then(|()| stage.finish()).map(|staged| (temp, staged))
}

#[test]
fn an_archive_gives_all_of_its_files() {
    let long = format!("hooks/{}/x", "long".repeat(40));
    let mut named = entry("././@LongLink", EntryType::GNULongName, 0o644, "", format!("{long}\0").as_bytes());
    named.extend(file("hooks/cut", b"long"));
    let parts = [
        pax(&[("comment", "a commit"), ("mtime", "1")]),
        entry("./", EntryType::Directory, 0o755, "", b""),
        entry("./hooks/", EntryType::Directory, 0o755, "", b""),
        entry("./hooks/guard", EntryType::Regular, 0o700, "", b"#!/bin/sh\n"),
        entry("hooks/alias", EntryType::Symlink, 0o777, "guard", b""),
        file("skills/a/SKILL.md", b"skill"),
        file("README.md", b"read me"),
        entry("latest", EntryType::Symlink, 0o777, "README.md", b""),
        named,
        pax(&[("path", "recipes/\u{e4}.md"), ("size", "6")]),
        file("short", b"recipe"),
        vec![0; 1024],
    ];
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&parts.concat()).unwrap();
    let packed = [gzip.finish().unwrap()];
    for (parts, is_gzip) in [(&parts[..], false), (&packed[..], true)] {
        let (_temp, staged) = unpacked(parts, is_gzip, 1 << 20).unwrap();
        let at = |path: &str| staged.path().join(path);
        let mode = |path: &str| fs::metadata(at(path)).unwrap().permissions().mode() & 0o7777;
        assert_eq!(fs::read_to_string(at("hooks/alias")).unwrap(), "#!/bin/sh\n");
        assert_eq!((mode("hooks/guard"), mode("skills/a/SKILL.md")), (0o755, 0o644));
        assert_eq!(fs::read_to_string(at(&long)).unwrap(), "long");
        assert_eq!(fs::read_to_string(at("recipes/\u{e4}.md")).unwrap(), "recipe");
        assert_eq!(fs::read_to_string(at("latest")).unwrap(), "read me");
        for absent in ["short", "hooks/cut"] {
            assert!(!at(absent).exists(), "{absent}");
        }
    }
}

#[test]
fn a_hostile_archive_is_refused_by_name() {
    let sparse = entry("hooks/big", EntryType::GNUSparse, 0o644, "", b"");
    let mut huge = Header::new_gnu();
    huge.set_path("hooks/huge").unwrap();
    huge.set_size(10 << 30);
    huge.set_mode(0o644);
    huge.set_cksum();
    let huge = huge.as_bytes().to_vec();
    let mut long = Header::new_gnu();
    long.set_entry_type(EntryType::XHeader);
    long.set_path("x").unwrap();
    long.set_size(1 << 40);
    long.set_cksum();
    let mut long = long.as_bytes().to_vec();
    long.resize(200_000, b'0');
    let mut broken = file("hooks/x", b"x");
    broken[150] ^= 1;
    let mut coloured = file("hooks/\u{1b}[31m", b"x");
    coloured[148..156].copy_from_slice(b"\x1b[31mxxx");
    let x = || file("hooks/x", b"x");
    for (parts, want) in [
        (vec![file("../escaped", b"x")], "../escaped: has a part `..`"),
        (vec![file("hooks/../../escaped", b"x")], "has a part `..`"),
        (vec![file("/etc/passwd", b"x")], "/etc/passwd: is absolute"),
        (vec![file("hooks/x\nerror: y", b"x")], "hooks/x\\nerror: y: has a control character"),
        (vec![entry("hooks/x", EntryType::Link, 0o644, "/etc/passwd", b"")], "hooks/x: is a hard link"),
        (vec![entry("hooks/x", EntryType::Link, 0o644, "hooks/y", b"")], "hooks/x: is a hard link"),
        (
            vec![entry("hooks/x", EntryType::Symlink, 0o777, "/etc/passwd", b"")],
            "hooks/x: is a symlink to /etc/passwd",
        ),
        (
            vec![entry("hooks/x", EntryType::Symlink, 0o777, "../../../x", b"")],
            "hooks/x: is a symlink to ../../../x",
        ),
        (vec![entry("hooks", EntryType::Symlink, 0o777, "skills", b"")], "hooks: is a symlink"),
        (
            vec![entry("hooks/d", EntryType::Symlink, 0o777, "../skills", b""), file("hooks/d/x", b"x")],
            "hooks/d",
        ),
        (vec![entry("hooks/x", EntryType::Char, 0o666, "", b"")], "hooks/x: is a device"),
        (vec![entry("dev/null", EntryType::Char, 0o666, "", b"")], "dev/null: is a device"),
        (vec![entry("secret", EntryType::Symlink, 0o777, "/etc/passwd", b"")], "secret: is a symlink to"),
        (vec![file(".git/config", b"x")], ".git/config: has a part `.git`"),
        (vec![entry("hooks/x", EntryType::Block, 0o666, "", b"")], "hooks/x: is a device"),
        (vec![entry("hooks/x", EntryType::Fifo, 0o666, "", b"")], "hooks/x: is a named pipe"),
        (vec![entry("hooks/x", EntryType::new(b'Z'), 0o666, "", b"")], "hooks/x: is of an unknown kind"),
        (vec![sparse], "the archive: is damaged"),
        (vec![huge], "hooks/huge: is too large"),
        (vec![entry("hooks/x", EntryType::Regular, 0o4755, "", b"")], "hooks/x: has the mode 4755"),
        (vec![entry("hooks/x", EntryType::Regular, 0o2755, "", b"")], "hooks/x: has the mode 2755"),
        (vec![entry("hooks/d", EntryType::Directory, 0o1777, "", b"")], "hooks/d: has the mode 1777"),
        (vec![pax(&[("path", "../escaped")]), x()], "../escaped: has a part `..`"),
        (vec![pax(&[("path", "/etc/passwd")]), x()], "/etc/passwd: is absolute"),
        (vec![pax(&[("path", "hooks/a")]), pax(&[("path", "hooks/b")]), x()], "is damaged"),
        (
            vec![pax(&[("linkpath", "/etc/passwd")]), entry("hooks/x", EntryType::Symlink, 0o777, "y", b"")],
            "hooks/x: is a symlink to /etc/passwd",
        ),
        (vec![pax(&[("size", "0")]), x()], "the archive: is damaged"),
        (vec![pax(&[("path", &"x".repeat(5_000))]), x()], "is too long"),
        (vec![long], "the archive: is damaged"),
        (vec![pax(&[("path", "hooks/a")])], "the archive: is damaged"),
        (vec![x(), x()], "hooks/x: appears twice"),
        (vec![x(), file("hooks/X", b"x")], "by the case of its letters only"),
        (vec![file("hooks/x/", b"x")], "is a file with the name of a directory"),
        (vec![broken], "the archive: is damaged"),
        (vec![coloured], "the archive: is damaged"),
        (vec![b"no archive".to_vec()], "the archive: is damaged"),
        (vec![file("README.md", b"x")], "has no skills"),
        (vec![], "has no skills"),
    ] {
        let error = unpacked(&parts, false, 1 << 20).unwrap_err().to_string();
        assert!(error.contains(want), "expected {want:?}, found {error:?}");
        assert!(!error.contains(char::is_control), "{error:?}");
    }
    let error = unpacked(&[x()], true, 1 << 20).unwrap_err().to_string();
    assert!(error.contains("the archive: is damaged"), "no gzip: {error}");
}

#[test]
fn an_archive_that_unpacks_to_more_than_is_allowed_is_left_off_there() {
    // Four megabytes of zeros in four kilobytes: as a hook, as another file, and as no archive
    // at all.
    for parts in [file("hooks/x", &vec![0; 4 << 20]), file("x", &vec![0; 4 << 20]), vec![1; 4 << 20]] {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&parts).unwrap();
        let packed = gzip.finish().unwrap();
        assert!(packed.len() < 100_000);
        let error = unpacked(&[packed], true, 1 << 20).unwrap_err();
        let is_expected = match error.kind {
            PluginErrorKind::TooLarge(_) => true,
            // Its first block is not a header.
            PluginErrorKind::Hostile(_) => parts[0] == 1,
            _ => false,
        };
        assert!(is_expected, "{error}");
    }
}
