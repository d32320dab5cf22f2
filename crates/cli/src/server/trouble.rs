//! What keeps a server from starting, or ends it, and what to do about it.

use std::io::ErrorKind;

use plimsoll_apiserver::start::StartError;
use plimsoll_apiserver::store::{OpenError, WriteError};

use crate::failure::Failure;

use super::args::ServerArgs;

/// Why the API server did not start.
pub fn at_start(error: &StartError, args: &ServerArgs) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        StartError::Io { error, .. } | StartError::Open(OpenError::Io { error, .. }) => {
            of_kind(failure, error.kind(), &error.to_string(), args)
        }
        other => of_kind(failure, ErrorKind::Other, &other.to_string(), args),
    }
}

/// The disk refused a write while the server ran: it must end, since nothing that happens from here on would be kept.
pub fn at_write(why: &WriteError, args: &ServerArgs) -> Failure {
    let text = match why {
        WriteError::Failed(text) => text.to_string(),
        other => other.to_string(),
    };
    let failure = Failure::new(format!("the store in {} cannot be written: {text}", args.data_dir.display()));
    of_kind(failure, ErrorKind::Other, &text, args)
}

fn of_kind(failure: Failure, kind: ErrorKind, text: &str, args: &ServerArgs) -> Failure {
    let folder = args.data_dir.display();
    // The store hands on what the system said, in words.
    let is = |codes: &[i32]| codes.iter().any(|code| text.contains(&format!("(os error {code})")));
    // No space, a quota reached, a file that may not become larger.
    let full = matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
        || is(&[28, 122, 27]);
    if full {
        return failure
            .help(format!("make room on the disk of {folder} and start again: all that was acknowledged is there"));
    }
    match kind {
        ErrorKind::AddrInUse => failure
            .help(format!("{} is taken: stop who has it, or take another with --listen 127.0.0.1:0", args.listen)),
        ErrorKind::AddrNotAvailable => {
            failure.help(format!("{} is no address of this machine: try --listen 127.0.0.1:0", args.listen.ip()))
        }
        ErrorKind::PermissionDenied if args.listen.port() < 1024 && text.contains("listen") => {
            failure.help("ports below 1024 are for the system: take another with --listen")
        }
        // A folder that is not there is made: the system does not let it be, as below /proc.
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem | ErrorKind::NotFound => {
            failure.help("name a folder that you may write to with --data-dir")
        }
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            failure.help(format!("{folder} must be a folder, or nothing yet; name another with --data-dir"))
        }
        _ => failure,
    }
}
