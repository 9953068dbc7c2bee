//! Parts of reports that several operations share.

use omx_kernel::{Mode, Refusal, Scope, SessionId, Value};
use omx_store::{MisnamedDocument, QuarantinedDocument, UnreadableDocument};

/// A scope in a report: the session id, or `null`.
pub(crate) fn scope(scope: &Scope) -> Value {
    Value::string_or_null(scope.session().map(SessionId::as_str))
}

pub(crate) fn path(path: &std::path::Path) -> Value {
    Value::string(&path.to_string_lossy())
}

fn mode(mode: Mode) -> Value {
    Value::string(mode.name())
}

pub(crate) fn quarantined(moved: &[QuarantinedDocument]) -> Value {
    let items = moved.iter().map(|item| {
        Value::record([
            ("mode", mode(item.mode)),
            ("session_id", scope(&item.scope)),
            ("path", path(&item.path)),
        ])
    });
    Value::array(items.collect())
}

pub(crate) fn unreadable<'a>(
    found: impl IntoIterator<Item = &'a UnreadableDocument>,
    misnamed: impl IntoIterator<Item = &'a MisnamedDocument>,
) -> Value {
    let items = found.into_iter().map(|item| {
        Value::record([
            ("mode", mode(item.mode)),
            ("session_id", scope(&item.scope)),
            ("path", path(&item.path)),
            ("reason", Value::string(&item.error.to_string())),
        ])
    });
    let misnamed = misnamed.into_iter().map(|item| {
        Value::record([
            ("mode", mode(item.mode)),
            ("session_id", Value::string(&item.folder)),
            ("path", path(&item.path)),
            ("reason", Value::string(MISNAMED)),
        ])
    });
    Value::array(items.chain(misnamed).collect())
}

/// Why a document in a folder that no session can have is not read.
pub const MISNAMED: &str = "the name of its folder is not a session id; a forced cancel removes it";

/// Builds an object and omits those of `lists` that are empty.
pub(crate) fn with_lists(
    fields: Vec<(&str, Value)>,
    lists: impl IntoIterator<Item = (&'static str, Value)>,
) -> Value {
    let reported =
        lists.into_iter().filter(|(_, list)| list.as_array().is_some_and(|l| !l.is_empty()));
    let named = |(name, value): (&str, Value)| (name.to_owned(), value);
    Value::object(fields.into_iter().map(named).chain(reported.map(named)).collect())
}

/// Converts an object from `serde_json`.
pub(crate) fn from_json(object: &serde_json::Value) -> Value {
    // Never fails: serde_json prints valid JSON.
    omx_store::json::parse(&object.to_string()).unwrap_or_else(|_| Value::null())
}

/// The error object that programs get for a refusal.
pub fn error_object(refusal: &Refusal) -> Value {
    Value::record([
        ("error", Value::string(&refusal.message)),
        ("code", Value::string(refusal.code.as_str())),
    ])
}
