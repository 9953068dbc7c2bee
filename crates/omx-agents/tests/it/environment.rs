//! Which of the person's variables reach an agent (quality.md S5).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use omx_agents::AgentEnv;
use omx_agents::environment::{agent_environment, find_on_path, variable};
use tempfile::TempDir;

fn env(variables: &[(&str, &str)]) -> AgentEnv {
    let pair = |&(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
    AgentEnv {
        variables: variables.iter().map(pair).collect(),
        omx: PathBuf::from("/nowhere/omx"),
        worker_variable: "MARK_OF_A_WORKER".to_owned(),
        child_variables: Default::default(),
        scenario: None,
        rehearsal_folder: PathBuf::from("/nowhere"),
        clock: || omx_kernel::Timestamp::from_millis(0),
    }
}

fn names(environment: &BTreeMap<OsString, OsString>) -> Vec<&str> {
    environment.keys().map(|name| name.to_str().unwrap()).collect()
}

#[test]
fn common_variables_are_passed_with_their_values() {
    let given = [
        ("PATH", "/bin"),
        ("HOME", "/home/x"),
        ("LANG", "C.UTF-8"),
        ("LC_ALL", "C"),
        ("XDG_CONFIG_HOME", "/c"),
        ("https_proxy", "http://p"),
        ("CARGO_HOME", "/cargo"),
        ("TERM", ""),
    ];
    let made = agent_environment(&env(&given), &[], &[], "m-1");
    for (name, value) in given {
        assert_eq!(made.get(OsStr::new(name)).unwrap(), value, "{name}");
    }
    assert_eq!(made.get(OsStr::new("MARK_OF_A_WORKER")).unwrap(), "m-1");
    assert_eq!(made.len(), given.len() + 1);
}

#[test]
fn unrelated_secrets_are_not_passed() {
    let secrets = [
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "NPM_TOKEN",
        "DATABASE_URL",
        "PGPASSWORD",
        "SSH_AUTH_SOCK",
        "OMX_TEAM_TOKEN",
        "OMX_DATABASE_URL",
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
        // Similar to allowed names.
        "PATH_SECRET",
        "HOMEBREW_GITHUB_API_TOKEN",
        "MY_LC_SECRET",
        "XDGSECRET",
        "path",
        "",
    ];
    let given: Vec<_> = secrets.iter().map(|name| (*name, "canary")).collect();
    let made = agent_environment(&env(&given), &[], &[], "m");
    assert_eq!(names(&made), ["MARK_OF_A_WORKER"]);
}

#[test]
fn a_driver_gets_only_the_names_and_prefixes_it_adds() {
    let given = [
        ("CODEX_HOME", "/c"),
        ("CODEXHOME", "canary"),
        ("SCRIPTED_KEY", "k"),
        ("SCRIPTED_KEY_2", "canary"),
        ("THE_CODEX_KEY", "canary"),
    ];
    let made = agent_environment(&env(&given), &["SCRIPTED_KEY"], &["CODEX_"], "m");
    assert_eq!(names(&made), ["CODEX_HOME", "MARK_OF_A_WORKER", "SCRIPTED_KEY"]);
}

/// An agent that starts agents must not pass on its own mark.
#[test]
fn the_mark_is_the_workers_own() {
    let given = [("MARK_OF_A_WORKER", "of the caller")];
    let made = agent_environment(&env(&given), &["MARK_OF_A_WORKER"], &[], "mine");
    assert_eq!(made.get(OsStr::new("MARK_OF_A_WORKER")).unwrap(), "mine");
}

#[test]
fn values_may_be_any_bytes_but_names_must_be_utf8() {
    let mut given = env(&[]);
    let odd = OsStr::from_bytes(b"a\xff=b\n");
    given.variables.insert("LC_ODD".into(), odd.to_owned());
    given.variables.insert(OsStr::from_bytes(b"LC_\xff").to_owned(), "x".into());
    let made = agent_environment(&given, &[], &[], "m");
    assert_eq!(made.get(OsStr::new("LC_ODD")).unwrap(), odd);
    assert_eq!(made.len(), 2);
}

#[test]
fn only_executable_programs_are_found_on_the_path() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["first", "second", "third"] {
        fs::create_dir(at(name)).unwrap();
    }
    fs::create_dir(at("first/tool")).unwrap();
    fs::write(at("second/tool"), "").unwrap();
    fs::write(at("third/tool"), "").unwrap();
    fs::set_permissions(at("third/tool"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!(
        "relative:{}:{}:{}",
        at("first").display(),
        at("second").display(),
        at("third").display()
    );
    let found = find_on_path(&env(&[("PATH", &path)]), "tool");
    assert_eq!(found, Some(at("third/tool")));
    assert_eq!(find_on_path(&env(&[("PATH", &path)]), "other"), None);
    assert_eq!(find_on_path(&env(&[]), "sh"), None);
}

#[test]
fn an_empty_variable_counts_as_unset() {
    let given = env(&[("SET", "x"), ("EMPTY", "")]);
    assert_eq!(variable(&given, "SET"), Some(OsStr::new("x")));
    assert_eq!(variable(&given, "EMPTY"), None);
    assert_eq!(variable(&given, "MISSING"), None);
}
