//! The directories of a hook. wasmtime implements WASI; these functions replace those that give a guest access to
//! directories and files.

mod tape;
mod types;

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir as Confined;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::filesystem::{
    Descriptor, Dir, FsPerms, OpenMode, WasiFilesystem, WasiFilesystemView as _,
};
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    self as wasi, DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, HostDescriptor as _, OpenFlags,
    PathFlags,
};

use self::tape::Refused;
use crate::capability::{Base, Capability, Directory};
use crate::wasm::access::Places;
use crate::wasm::state::CallState;
use crate::wasm::tape::{Logged, Taped as _};

/// The interfaces whose functions are replaced, in the version that wasmtime links.
const PREOPENS: &str = "wasi:filesystem/preopens@0.2.12";
const FILESYSTEM: &str = "wasi:filesystem/types@0.2.12";

/// Links files, with the directories that the hook was given.
pub(super) fn link(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    wasi::add_to_linker::<_, WasiFilesystem>(linker, CallState::filesystem)?;
    preopens::add_to_linker::<_, WasiFilesystem>(linker, CallState::filesystem)?;
    // After the functions that these replace.
    linker.allow_shadowing(true);
    linker.instance(PREOPENS)?.func_wrap_async("get-directories", |mut store, (): ()| {
        Box::new(async move {
            let state: &mut CallState = store.data_mut();
            state.deny_lacking(|right| matches!(right, Capability::Read(_) | Capability::ReadWrite(_)));
            Ok((taped_directories(state).await?,))
        })
    })?;
    let mut filesystem = linker.instance(FILESYSTEM)?;
    tape::link(&mut filesystem)?;
    filesystem.func_wrap_async(
        "[method]descriptor.open-at",
        |mut store,
         (directory, follow, path, how, mode): (
            Resource<Descriptor>,
            PathFlags,
            String,
            OpenFlags,
            DescriptorFlags,
        )| {
            Box::new(async move {
                let state: &mut CallState = store.data_mut();
                if !state.tape.is_on() {
                    return Ok((open(state, directory, follow, path, how, mode).await?,));
                }
                let (tape, asked) = (state.tape.clone(), format!("file.open_at {path:?}"));
                if tape.is_played() {
                    return Ok((match tape.play::<Refused<()>>(&asked)? {
                        Ok(()) => Ok(tape::nowhere(state)?),
                        Err(error) => Err(error),
                    },));
                }
                let opened = open(state, directory, follow, path, how, mode).await?;
                tape::note(&tape, &asked, &opened);
                Ok((opened,))
            })
        },
    )?;
    // A link would let a hook with more rights follow it out of the directory later.
    filesystem.func_wrap(
        "[method]descriptor.symlink-at",
        |_, (_, _, _): (Resource<Descriptor>, String, String)| {
            Ok((Refused::<()>::Err(ErrorCode::NotPermitted),))
        },
    )?;
    filesystem.func_wrap(
        "[method]descriptor.link-at",
        |_, _: (Resource<Descriptor>, PathFlags, String, Resource<Descriptor>, String)| {
            Ok((Refused::<()>::Err(ErrorCode::NotPermitted),))
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

/// Returns the directories of the tape, or those that the hook was given.
async fn taped_directories(state: &mut CallState) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
    let tape = state.tape.clone();
    if !tape.is_on() {
        return directories(state, &mut Vec::new()).await;
    }
    if !tape.is_played() {
        let mut log = Vec::new();
        let given = directories(state, &mut log).await?;
        let names: Vec<String> = given.iter().map(|(_, name)| name.clone()).collect();
        tape.record("directories".to_owned(), Logged { got: names, log }.write());
        return Ok(given);
    }
    let Logged { got, log } = tape.play::<Logged<Vec<String>>>("directories")?;
    for line in log {
        state.log.push(&line);
    }
    got.into_iter().map(|name| Ok((tape::nowhere(state)?, name))).collect()
}

/// The granted directories, each under its absolute path and under the name in its right. They are opened
/// when the guest first asks for them, so that a call without files pays nothing.
async fn directories(
    state: &mut CallState,
    log: &mut Vec<String>,
) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
    let mut given = Vec::new();
    for right in state.access.rights.effective().to_vec() {
        let (directory, perms) = match &right {
            Capability::Read(directory) => (directory.clone(), FsPerms::ReadOnly),
            Capability::ReadWrite(directory) => (directory.clone(), FsPerms::ReadWrite),
            _ => continue,
        };
        let places = state.access.places.clone();
        let opened = tokio::task::spawn_blocking(move || {
            let path = places.resolve(&directory).ok_or(io::ErrorKind::NotFound)?;
            Ok::<_, io::Error>((places.open(&directory, &path)?, path))
        });
        let (file, path) = match opened.await? {
            Ok(opened) => opened,
            Err(error) => {
                log.push(format!("hookbox: {right} cannot be opened: {error}\n"));
                log.last().into_iter().for_each(|line| state.log.push(line));
                continue;
            }
        };
        let mode = match perms {
            FsPerms::ReadOnly => OpenMode::READ,
            FsPerms::ReadWrite => OpenMode::READ | OpenMode::WRITE,
        };
        let (Capability::Read(directory) | Capability::ReadWrite(directory)) = &right else { continue };
        let written = directory.to_string();
        let absolute = path.to_string_lossy().into_owned();
        let dir = Dir::new(file, perms, mode, false);
        if absolute != written {
            given.push((state.table.push(Descriptor::Dir(dir.clone()))?, absolute));
        }
        given.push((state.table.push(Descriptor::Dir(dir))?, written));
    }
    Ok(given)
}

/// Opens a file or directory below a granted one. Only regular files and directories are opened: opening a
/// pipe may wait for ever, and opening a device may do anything. A file that has a second name is not opened
/// for writing: the other name may be outside. A file is checked before it is truncated. Only a process of the
/// same user can add a name during the check, and it can write the file itself.
async fn open(
    state: &mut CallState,
    directory: Resource<Descriptor>,
    follow: PathFlags,
    path: String,
    mut how: OpenFlags,
    mut mode: DescriptorFlags,
) -> wasmtime::Result<Refused<Resource<Descriptor>>> {
    let again = || Resource::new_own(directory.rep());
    let truncates = how.contains(OpenFlags::TRUNCATE);
    if truncates && how.contains(OpenFlags::DIRECTORY) {
        return Ok(Err(ErrorCode::Invalid));
    }
    if truncates {
        how &= !OpenFlags::TRUNCATE;
        mode |= DescriptorFlags::WRITE;
    }
    // Creating a file may also open an existing one for writing.
    let writes = mode.contains(DescriptorFlags::WRITE) || how.contains(OpenFlags::CREATE);
    let mut view = state.filesystem();
    // Nothing there yet is for the opening itself to say.
    if let Ok(about) = view.stat_at(again(), follow, path.clone()).await
        && !may_open(&about, writes)
    {
        return Ok(Err(ErrorCode::NotPermitted));
    }
    let opened = match view.open_at(again(), follow, path, how, mode).await {
        Ok(opened) => opened,
        Err(error) => return Ok(Err(error.downcast()?)),
    };
    // The file may have been exchanged since.
    let about = view.stat(Resource::new_own(opened.rep())).await.ok();
    let is_fine = about.is_some_and(|about| may_open(&about, writes));
    let result = match is_fine {
        false => Err(ErrorCode::NotPermitted),
        true if truncates => match state.filesystem().set_size(Resource::new_own(opened.rep()), 0).await {
            Ok(()) => Ok(()),
            Err(error) => Err(error.downcast()?),
        },
        true => Ok(()),
    };
    Ok(match result {
        Ok(()) => Ok(opened),
        Err(error) => {
            state.table.delete(opened)?;
            Err(error)
        }
    })
}

fn may_open(about: &DescriptorStat, writes: bool) -> bool {
    match about.type_ {
        DescriptorType::RegularFile => !writes || about.link_count <= 1,
        // A symlink that is not to be followed is refused by the opening.
        DescriptorType::Directory | DescriptorType::SymbolicLink => true,
        _ => false,
    }
}

impl Places {
    /// Returns the path of a directory of a right on this machine.
    pub(crate) fn resolve(&self, directory: &Directory) -> Option<std::path::PathBuf> {
        let base = match directory.base() {
            Base::Root => Some(Path::new("/")),
            Base::Repo => self.repo.as_deref(),
            Base::Home => self.home.as_deref(),
            Base::Data => self.data.as_deref(),
        };
        base.map(|base| directory.below(base))
    }

    /// Opens the directory. A path in the repository is opened beneath it, so that a symlink in it leads
    /// nowhere.
    fn open(&self, directory: &Directory, path: &Path) -> io::Result<File> {
        if let (Base::Data, Some(data)) = (directory.base(), &self.data) {
            DirBuilder::new().recursive(true).mode(0o700).create(data)?;
        }
        let beneath = [&self.repo, &self.data]
            .into_iter()
            .flatten()
            .find_map(|base| path.strip_prefix(base).ok().map(|rest| (base, rest)));
        let opened = match beneath {
            Some((base, rest)) if !rest.as_os_str().is_empty() => {
                Confined::open_ambient_dir(base, ambient_authority())?.open_dir(rest)?
            }
            _ => Confined::open_ambient_dir(path, ambient_authority())?,
        };
        Ok(opened.into_std_file())
    }
}
