//! The context of a child process survives the trip through its environment.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use omx_kernel::{ChildContext, Dialect, RunId, SessionId};

fn context(root: PathBuf) -> ChildContext {
    let run = "01990000-0000-7000-8000-000000000001";
    ChildContext {
        root,
        dialect: Dialect::OMC,
        state_dir: Some("/elsewhere".into()),
        session: SessionId::new(run).ok(),
        run: RunId::new(run).ok(),
        team: None,
        capability: None,
        relay: None,
    }
}

#[test]
fn context_survives_serialization() {
    let not_utf8 = PathBuf::from(OsString::from_vec(b"/pro\xffject".to_vec()));
    for root in ["/project".into(), not_utf8] {
        let before = context(root);
        let text = serde_json::to_string(&before).unwrap();
        assert_eq!(serde_json::from_str::<ChildContext>(&text).unwrap(), before, "{text}");
    }
}

#[test]
fn context_is_readable_and_short() {
    let minimal = ChildContext {
        state_dir: None,
        session: None,
        run: None,
        dialect: Dialect::OMX,
        ..context("/project".into())
    };
    assert_eq!(serde_json::to_string(&minimal).unwrap(), r#"{"root":"/project","dialect":"omx"}"#);
}

#[test]
fn context_from_elsewhere_is_checked() {
    for wrong in [
        r#"{"root":"/p","dialect":"omz"}"#,
        r#"{"root":"/p","dialect":"omx","run":"../../etc"}"#,
        r#"{"root":"/p","dialect":"omx","session":"a/b"}"#,
        r#"{"dialect":"omx"}"#,
    ] {
        assert!(serde_json::from_str::<ChildContext>(wrong).is_err(), "{wrong}");
    }
    // A later version may tell more.
    let newer = r#"{"root":"/p","dialect":"omx","color":"blue"}"#;
    assert!(serde_json::from_str::<ChildContext>(newer).is_ok());
}
