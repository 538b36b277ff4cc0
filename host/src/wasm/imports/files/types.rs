//! The types of `wasi:filesystem` as a record has them.

use serde_json::{Value, json};
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode, MetadataHashValue,
};

use crate::wasm::tape::Taped;

macro_rules! errors {
    ($($name:ident)*) => {
        [$(ErrorCode::$name),*]
    };
}

/// Every error, for its name.
const ERRORS: [ErrorCode; 37] = errors![
    Access WouldBlock Already BadDescriptor Busy Deadlock Quota Exist FileTooLarge
    IllegalByteSequence InProgress Interrupted Invalid Io IsDirectory Loop TooManyLinks MessageSize
    NameTooLong NoDevice NoEntry NoLock InsufficientMemory InsufficientSpace NotDirectory NotEmpty
    NotRecoverable Unsupported NoTty NoSuchDevice Overflow NotPermitted Pipe ReadOnly InvalidSeek
    TextFileBusy CrossDevice
];

impl Taped for ErrorCode {
    fn write(&self) -> Value {
        self.name().into()
    }

    fn read(got: &Value) -> Option<Self> {
        ERRORS.into_iter().find(|it| Some(it.name()) == got.as_str())
    }
}

/// Every type, for its name.
const TYPES: [(DescriptorType, &str); 8] = [
    (DescriptorType::Unknown, "unknown"),
    (DescriptorType::BlockDevice, "block-device"),
    (DescriptorType::CharacterDevice, "character-device"),
    (DescriptorType::Directory, "directory"),
    (DescriptorType::Fifo, "fifo"),
    (DescriptorType::SymbolicLink, "symbolic-link"),
    (DescriptorType::RegularFile, "regular-file"),
    (DescriptorType::Socket, "socket"),
];

impl Taped for DescriptorType {
    fn write(&self) -> Value {
        TYPES.iter().find(|(it, _)| it == self).map_or(Value::Null, |(_, name)| (*name).into())
    }

    fn read(got: &Value) -> Option<Self> {
        TYPES.iter().find(|(_, name)| Some(*name) == got.as_str()).map(|(it, _)| *it)
    }
}

/// Every flag, for its bit.
const FLAGS: [DescriptorFlags; 6] = [
    DescriptorFlags::READ,
    DescriptorFlags::WRITE,
    DescriptorFlags::FILE_INTEGRITY_SYNC,
    DescriptorFlags::DATA_INTEGRITY_SYNC,
    DescriptorFlags::REQUESTED_WRITE_SYNC,
    DescriptorFlags::MUTATE_DIRECTORY,
];

impl Taped for DescriptorFlags {
    fn write(&self) -> Value {
        FLAGS.into_iter().map(|flag| self.contains(flag)).collect()
    }

    fn read(got: &Value) -> Option<Self> {
        let set = FLAGS.into_iter().zip(got.as_array()?).filter(|(_, set)| set.as_bool() == Some(true));
        Some(set.fold(Self::empty(), |all, (flag, _)| all | flag))
    }
}

impl Taped for DescriptorStat {
    fn write(&self) -> Value {
        let time = |it: &Option<Datetime>| it.map(|it| (it.seconds, it.nanoseconds)).write();
        json!({
            "type": self.type_.write(),
            "links": self.link_count,
            "size": self.size,
            "accessed": time(&self.data_access_timestamp),
            "modified": time(&self.data_modification_timestamp),
            "changed": time(&self.status_change_timestamp),
        })
    }

    fn read(got: &Value) -> Option<Self> {
        let time = |key: &str| {
            let time = Option::<(u64, u32)>::read(got.get(key)?)?;
            Some(time.map(|(seconds, nanoseconds)| Datetime { seconds, nanoseconds }))
        };
        Some(Self {
            type_: Taped::read(got.get("type")?)?,
            link_count: Taped::read(got.get("links")?)?,
            size: Taped::read(got.get("size")?)?,
            data_access_timestamp: time("accessed")?,
            data_modification_timestamp: time("modified")?,
            status_change_timestamp: time("changed")?,
        })
    }
}

impl Taped for MetadataHashValue {
    fn write(&self) -> Value {
        (self.lower, self.upper).write()
    }

    fn read(got: &Value) -> Option<Self> {
        <(u64, u64)>::read(got).map(|(lower, upper)| Self { lower, upper })
    }
}

impl Taped for DirectoryEntry {
    fn write(&self) -> Value {
        json!({ "name": self.name, "type": self.type_.write() })
    }

    fn read(got: &Value) -> Option<Self> {
        Some(Self { name: Taped::read(got.get("name")?)?, type_: Taped::read(got.get("type")?)? })
    }
}
