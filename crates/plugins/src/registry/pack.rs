//! Packing a staged plugin. The same plugin gives the same bytes on every machine: sorted, without times and
//! owners.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

use crate::{PARTS, PluginError};

/// The unknown operating system in a gzip header (RFC 1952, "OS").
const NO_SYSTEM: u8 = 255;

/// The sorted names in `skills`, `recipes` and `hooks` of a plugin.
pub(super) type Contents = Vec<(&'static str, Vec<String>)>;

/// Packs the staged plugin in this directory as `tar.gz`.
pub(super) fn pack(top: &Path) -> Result<Vec<u8>, PluginError> {
    let mut paths = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(dir) = waiting.pop() {
        let below = names(&top.join(&dir)).map_err(|error| PluginError::io(top.join(&dir), error))?;
        for name in below {
            let path = dir.join(name);
            if top.join(&path).is_dir() && !top.join(&path).is_symlink() {
                waiting.push(path.clone());
            }
            paths.push(path);
        }
    }
    paths.sort();
    let gzip = GzBuilder::new().mtime(0).operating_system(NO_SYSTEM);
    let mut archive = Builder::new(gzip.write(Vec::new(), Compression::best()));
    for path in paths {
        append(&mut archive, top, &path).map_err(|error| PluginError::io(top.join(&path), error))?;
    }
    let packed = archive.into_inner().and_then(|gzip| gzip.finish());
    packed.map_err(|error| PluginError::io(top, error))
}

/// Lists the names in `skills`, `recipes` and `hooks` of a plugin.
pub(super) fn contents(top: &Path) -> Result<Contents, PluginError> {
    let of = |dir: &'static str| match names(&top.join(dir)) {
        Ok(names) => Ok((dir, names)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((dir, Vec::new())),
        Err(error) => Err(PluginError::io(top.join(dir), error)),
    };
    PARTS.into_iter().map(of).collect()
}

fn names(dir: &Path) -> io::Result<Vec<String>> {
    let name =
        |entry: io::Result<fs::DirEntry>| entry.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names = fs::read_dir(dir)?.map(name).collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

fn append<W: Write>(archive: &mut Builder<W>, top: &Path, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let from = top.join(path);
    let metadata = fs::symlink_metadata(&from)?;
    let mut header = Header::new_gnu();
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(0);
    if metadata.is_symlink() {
        header.set_entry_type(EntryType::Symlink);
        header.set_mode(0o777);
        return archive.append_link(&mut header, path, fs::read_link(from)?);
    }
    header.set_mode(if metadata.permissions().mode() & 0o111 == 0 { 0o644 } else { 0o755 });
    if metadata.is_dir() {
        header.set_entry_type(EntryType::Directory);
        return archive.append_data(&mut header, path, io::empty());
    }
    header.set_entry_type(EntryType::Regular);
    header.set_size(metadata.len());
    archive.append_data(&mut header, path, fs::File::open(from)?)
}

#[cfg(test)]
mod tests {
    use super::super::archive;
    use super::*;
    use crate::{Location, Plugins, Silent, Stage, Staged};

    /// A plugin with these files, written in this order.
    fn staged(plugins: &Plugins, files: &[(&str, bool, &str)]) -> Staged {
        let mut stage = Stage::new(plugins, &Silent).unwrap();
        for (path, executable, text) in files {
            let path = stage.path(path.as_bytes()).unwrap();
            stage.file(&path, *executable, None, text.as_bytes()).unwrap();
        }
        let link = stage.path(b"hooks/alias").unwrap();
        stage.symlink(&link, Path::new("guard")).unwrap();
        stage.finish().unwrap()
    }

    #[test]
    fn the_same_plugin_gives_the_same_bytes_and_comes_back_as_it_was() {
        let temp = tempfile::tempdir().unwrap();
        let plugins = Plugins::open(Location::Local, temp.path(), ".hookbox").unwrap();
        let long = format!("skills/{}/SKILL.md", "long".repeat(40));
        let files = [
            ("hooks/guard", true, "#!/bin/sh\n"),
            (&long, false, "skill"),
            ("recipes/r.md", false, "r"),
            ("README.md", false, "# Read\n"),
            (".hidden/x", false, ""),
            ("scripts/run.sh", true, "#!/bin/sh\n"),
        ];
        let mut backwards = files;
        backwards.reverse();
        let (one, other) = (staged(&plugins, &files), staged(&plugins, &backwards));
        fs::File::open(other.path().join("hooks/guard"))
            .unwrap()
            .set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000))
            .unwrap();
        let packed = pack(&one.path()).unwrap();
        assert_eq!(packed, pack(&other.path()).unwrap());
        let mut stage = Stage::new(&plugins, &Silent).unwrap();
        let layer = stage.scratch().join("layer");
        fs::write(&layer, &packed).unwrap();
        archive::unpack(fs::File::open(layer).unwrap(), true, 1 << 20, &mut stage).unwrap();
        assert_eq!(stage.finish().unwrap().digest(), one.digest());
        let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let want = [
            ("skills", names(&[&"long".repeat(40)])),
            ("recipes", names(&["r.md"])),
            ("hooks", names(&["alias", "guard"])),
        ];
        assert_eq!(contents(&one.path()).unwrap(), want);
    }
}
