//! Everything a person reads: help, usage, version, status, cancel and every error,
//! as snapshots, so that no sentence changes unnoticed.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use omx_testkit::TestProject;

use crate::cli_and_mcp::{by_command_line, cases, normal, prepared};
use crate::project;

/// Text as it is pinned: without the temporary folder, times and the version.
fn pinned(project: &TestProject, text: &str) -> String {
    normal(project, text).replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

/// The names of subcommands a help page lists.
fn subcommands(help: &str) -> Vec<String> {
    let listed = help.split("Commands:\n").nth(1).unwrap_or_default();
    listed
        .lines()
        .take_while(|line| line.starts_with("  "))
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// The help of a command and of all below it.
fn walk(project: &TestProject, command: &[String], pages: &mut Vec<(String, String)>) {
    let run = |flag: &str| {
        let args: Vec<&str> = command.iter().map(String::as_str).chain([flag]).collect();
        let outcome = project.omx(&args);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{args:?}");
        outcome.stdout
    };
    let long = run("--help");
    let short = run("-h");
    let mut page = long.clone();
    if short != long {
        page = format!("$ --help\n{long}\n$ -h\n{short}");
    }
    let below = subcommands(&long);
    assert_eq!(below, subcommands(&short), "{command:?}");
    pages.push((command.join(" "), page));
    for name in below {
        walk(project, &[command, &[name]].concat(), pages);
    }
}

#[test]
fn help_of_every_command() {
    let project = project();
    let mut pages = Vec::new();
    walk(&project, &[], &mut pages);
    let commands: Vec<&str> = pages.iter().map(|(command, _)| command.as_str()).collect();
    insta::assert_snapshot!("commands", commands.join("\n"));
    for (command, page) in &pages {
        let name = format!("help {command}").trim_end().replace(' ', "_");
        insta::assert_snapshot!(name, pinned(&project, page));
        let words: Vec<&str> = ["help"].into_iter().chain(command.split_whitespace()).collect();
        let by_command = project.omx(&words).stdout;
        assert!(page.contains(&by_command), "omx {words:?}");
    }
}

#[test]
fn help_has_the_name_of_the_dialect() {
    let project = project();
    let omc = project.home().join("omc");
    symlink(project.binary(), &omc).unwrap();
    let output = project.command(&omc).args(["cancel", "--help"]).output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("Usage: omc cancel [OPTIONS]"));
}

#[test]
fn help_completions_are_scripts_of_their_shells() {
    let project = project();
    for shell in ["bash", "zsh", "fish"] {
        let outcome = project.omx(&["completions", shell]);
        assert_eq!(outcome.code, Some(0));
        let lines: Vec<&str> = outcome.stdout.lines().collect();
        let head = lines[..12].iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(format!("completions_{shell}"), head);
        for word in ["list-active", "every-session", "dialect"] {
            assert!(outcome.stdout.contains(word), "{shell}: {word}");
        }
        if shell == "bash" {
            let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
            bash.stdin.take().unwrap().write_all(outcome.stdout.as_bytes()).unwrap();
            assert!(bash.wait().unwrap().success(), "bash does not take the script");
        }
    }
    for shell in ["elvish", "powershell"] {
        assert_eq!(project.omx(&["completions", shell]).code, Some(0), "{shell}");
    }
}

#[test]
fn help_completions_work_in_bash() {
    let project = project();
    let complete = |words: &str| {
        let script = format!(
            "eval \"$({} completions bash)\"; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); \
             _omx omx \"${{COMP_WORDS[COMP_CWORD]}}\" \"\"; echo \"${{COMPREPLY[*]}}\"",
            project.binary().display()
        );
        let output = project.command("bash").args(["-c", &script]).output().unwrap();
        assert!(output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(complete("omx ca"), "cancel");
    assert_eq!(complete("omx state li"), "list-active");
    assert_eq!(complete("omx cancel --every"), "--every-session");
}

#[test]
fn help_man_pages() {
    let project = project();
    let page = project.omx(&["man"]);
    assert_eq!(page.code, Some(0));
    insta::assert_snapshot!("man", pinned(&project, &page.stdout));
    let folder = project.home().join("man");
    let outcome = project.omx(&["man", "--dir", folder.to_str().unwrap()]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), ""));
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    insta::assert_snapshot!("man_pages", names.join("\n"));
}

/// A time some minutes ago, for `{-N min}`; a few seconds more, so that its age
/// in minutes does not change while the test runs.
fn with_times(text: &str) -> String {
    let mut parts = text.split("{-");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (minutes, rest) = part.split_once(" min}").expect("{-N min}");
        let ago = format!("-{minutes} minutes -5 seconds");
        let date = Command::new("date").args(["-u", "-d", &ago, "+%FT%TZ"]).output().unwrap();
        out += String::from_utf8(date.stdout).unwrap().trim();
        out += rest;
    }
    out
}

/// Runs a line in the shell and returns its output.
fn shell(project: &TestProject, line: &str) -> String {
    let bin = project.home().join("bin");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let output = project.command("sh").args(["-c", line]).env("PATH", path).output().unwrap();
    let mut reported = format!("$ {line}\n");
    reported += &String::from_utf8_lossy(&output.stdout);
    for error in String::from_utf8_lossy(&output.stderr).lines() {
        writeln!(reported, "! {error}").unwrap();
    }
    match output.status.code() {
        Some(0) => {}
        code => writeln!(reported, "[exit {}]", code.expect("an exit code")).unwrap(),
    }
    reported
}

#[test]
fn help_transcripts() {
    let (_, parts) = include_str!("transcripts.txt").split_once("\n# ").unwrap();
    for part in parts.split("\n# ") {
        let project = project();
        let bin = project.home().join("bin");
        std::fs::create_dir(&bin).unwrap();
        for name in ["omx", "omc"] {
            symlink(project.binary(), bin.join(name)).unwrap();
        }
        let (name, lines) = part.split_once('\n').unwrap();
        let mut reported = String::new();
        for line in lines.lines().filter(|line| !line.is_empty()) {
            if let Some(file) = line.strip_prefix("file ") {
                let (path, text) = file.split_once(' ').unwrap();
                let text: String = serde_json::from_str(text).unwrap();
                project.write(path, with_times(&text));
            } else {
                reported += &shell(&project, line.strip_prefix("$ ").expect("a command"));
                reported.push('\n');
            }
        }
        insta::assert_snapshot!(name.replace(' ', "_"), pinned(&project, &reported));
    }
}

#[test]
fn help_every_refusal_of_an_operation_has_its_sentence() {
    let mut reported = String::new();
    let mut sentences = BTreeSet::new();
    for case in cases() {
        let project = prepared(&case);
        for (call, (refused, text)) in case.calls.iter().zip(by_command_line(&project, &case)) {
            if !refused {
                continue;
            }
            let object: serde_json::Value = serde_json::from_str(&text).unwrap();
            let sentence = pinned(&project, object["error"].as_str().unwrap());
            assert!(!sentence.contains('\n'), "one line: {sentence}");
            sentences.insert(sentence.clone());
            let (operation, arguments, code) = call;
            writeln!(reported, "{} | {operation} {arguments}\n  {sentence} [{code}]", case.name)
                .unwrap();
        }
    }
    assert!(sentences.len() >= 40, "{} different sentences", sentences.len());
    insta::assert_snapshot!("refusals", reported);
}
