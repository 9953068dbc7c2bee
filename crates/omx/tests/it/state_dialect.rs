//! state.md 1.5: the same engine under the names of both families.

use omx_testkit::CommandOutcome;
use serde_json::json;

use crate::project;

const START: &str = r#"{"mode":"ralph","active":true}"#;
const WRITE: &[&str] = &["state", "write", "--json", "--input", START];

#[test]
fn state_1_5_name_flag_and_environment_choose_the_dialect() {
    let by_flag: &[&str] = &["--dialect", "omc"];
    for (called, args, variables) in [
        ("omc", &[][..], &[][..]),
        ("omx", by_flag, &[]),
        ("omx", &[], &[("OMX_DIALECT", "omc")]),
        ("omc", &[], &[("OMC_DIALECT", "omc")]),
        ("omc", &[], &[("OMX_DIALECT", "")]),
    ] {
        let project = project();
        let mut command = project.command(project.link_binary(called));
        command.args(args).args(WRITE).envs(variables.iter().copied());
        let answer = CommandOutcome::from(command.output().unwrap()).ok();
        let path = project.root().join(".omc/state/ralph-state.json");
        assert_eq!(answer["path"], path.to_str().unwrap(), "{called} {args:?} {variables:?}");
        assert!(!project.root().join(".omx").exists());
        assert_eq!(project.read(".omc/.gitignore"), "*\n");
    }
}

#[test]
fn state_1_5_the_flag_wins_over_the_environment_and_that_over_the_name() {
    for (called, args, variable, tree) in [
        ("omc", &["--dialect", "omx"][..], "omc", ".omx"),
        ("omc", &[], "omx", ".omx"),
        ("omx", &["--dialect", "omc"], "omx", ".omc"),
    ] {
        let project = project();
        let mut command = project.command(project.link_binary(called));
        command.args(args).args(WRITE).env("OMX_DIALECT", variable);
        CommandOutcome::from(command.output().unwrap()).ok();
        assert!(project.root().join(tree).is_dir(), "{called} {args:?} {variable}");
    }
}

#[test]
fn state_1_5_an_unknown_dialect_is_refused() {
    let project = project();
    assert_eq!(project.omx(&["--dialect", "omz", "status"]).code, Some(2));
    let outcome = project.omx_env(&["status", "--json"], &[("OMX_DIALECT", "omz")]);
    assert_eq!(outcome.refused(), "invalid_input");
}

#[test]
fn state_1_5_environment_names_start_with_the_dialects_prefix() {
    for (dialect, own, other) in [("omx", "OMX_", "OMC_"), ("omc", "OMC_", "OMX_")] {
        let project = project();
        let elsewhere = project.folder().join("elsewhere");
        let outside = project.folder().join("outside");
        std::fs::create_dir(&elsewhere).unwrap();
        let run = |prefix: &str| {
            let mut command = project.omx_command(&[&["--dialect", dialect], WRITE].concat());
            command.env(format!("{prefix}ROOT"), &elsewhere);
            command.env(format!("{prefix}STATE_DIR"), &outside);
            command.env(format!("{prefix}SESSION_ID"), format!("of-{dialect}"));
            let answer = CommandOutcome::from(command.output().unwrap()).ok();
            answer["path"].as_str().unwrap().to_owned()
        };
        let path = run(own);
        assert!(path.starts_with(outside.join("elsewhere-").to_str().unwrap()), "{path}");
        assert!(path.ends_with(&format!("/sessions/of-{dialect}/ralph-state.json")), "{path}");
        let path = run(other);
        let here = project.root().join(format!(".{dialect}/state/ralph-state.json"));
        assert_eq!(path, here.to_str().unwrap(), "the other family's names mean nothing");
    }
}

#[test]
fn state_1_5_the_two_trees_do_not_see_each_other() {
    let project = project();
    project.put(json!({"mode":"ralph","active":true}));
    let listed = project.omx(&["--dialect", "omc", "state", "list-active", "--json"]).ok();
    assert_eq!(listed, json!({"active_modes":[],"entries":[]}));
    let before = project.bytes(".omx");
    assert_eq!(project.omx(&["--dialect", "omc", "cancel", "--force"]).code, Some(0));
    assert_eq!(project.bytes(".omx"), before);
}

#[test]
fn state_1_5_messages_use_the_dialects_names() {
    for (dialect, words, foreign) in [
        (
            "omx",
            ["No active OMX modes detected.", "All OMX modes cleared.", "/autopilot to resume"],
            "oh-my-claudecode",
        ),
        (
            "omc",
            [
                "No active OMC modes detected.",
                "All OMC modes cleared.",
                "/oh-my-claudecode:autopilot to resume",
            ],
            "OMX",
        ),
    ] {
        let project = project();
        let run = |args: &[&str]| project.omx(&[&["--dialect", dialect], args].concat());
        let mut message = run(&["cancel"]).stdout;
        let start = r#"{"mode":"autopilot","active":true}"#;
        run(&["state", "write", "--input", start]);
        message.push_str(&run(&["cancel"]).stdout);
        message.push_str(&run(&["cancel", "--force"]).stdout);
        for word in words {
            assert!(message.contains(word), "{dialect}: {word} in {message}");
        }
        assert!(!message.contains(foreign), "{dialect}: {message}");
        let begun = r#"{"mode":"ralph","active":true,"start":true}"#;
        run(&["state", "write", "--input", begun]);
        let refused =
            run(&["state", "write", "--input", r#"{"mode":"team","active":true}"#]).stderr;
        assert!(refused.contains(&format!("({dialect} cancel --mode ralph)")), "{refused}");
    }
}
