//! What every command prints for a person, on a fixed project, as snapshots: no
//! sentence changes without being seen in a review.

use std::fmt::Write as _;
use std::fs;

use omx_testkit::CommandOutcome;

use crate::cli_and_mcp::normal;
use crate::conduct::{Repository, quick_scenario};

/// The part of the demo's scenario that plans: one step after the other.
fn planning() -> String {
    let quick = quick_scenario();
    let end = quick.match_indices("# ----").nth(1).map(|(at, _)| at);
    quick[..end.expect("two parts")].to_owned()
}

/// A project with a scenario, and with a folder of programs that has git and no agent.
struct Fixture {
    repository: Repository,
    /// The program's name in the dialect of the transcript.
    program: &'static str,
    transcript: String,
}

impl Fixture {
    fn new(program: &'static str) -> Self {
        let repository = Repository::playing(&planning());
        let programs = repository.project.home().join("bin");
        fs::create_dir(&programs).unwrap();
        for name in ["git", "sh", "setsid", "env"] {
            let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
                .map(|folder| folder.join(name))
                .find(|path| path.exists());
            std::os::unix::fs::symlink(found.unwrap(), programs.join(name)).unwrap();
        }
        std::os::unix::fs::symlink(repository.project.binary(), programs.join(program)).unwrap();
        Self { repository, program, transcript: String::new() }
    }

    /// Runs a command and adds it to the transcript.
    fn run(&mut self, args: &[&str]) -> CommandOutcome {
        let project = &self.repository.project;
        let programs = project.home().join("bin");
        let mut command = project.command(programs.join(self.program));
        let output = command.args(args).env("PATH", &programs).output().unwrap();
        let outcome = CommandOutcome::from(output);
        let report = |text: &str| mask(&normal(project, text));
        let args: Vec<String> = args.iter().map(|arg| quoted(&report(arg))).collect();
        writeln!(self.transcript, "$ {} {}", self.program, args.join(" ")).unwrap();
        self.transcript.push_str(&report(&outcome.stdout));
        for line in report(&outcome.stderr).lines() {
            writeln!(self.transcript, "! {line}").unwrap();
        }
        if outcome.code != Some(0) {
            writeln!(self.transcript, "[exit {}]", outcome.code.unwrap()).unwrap();
        }
        self.transcript.push('\n');
        outcome
    }

    fn plan(&mut self, flags: &[&str]) -> CommandOutcome {
        let scenario = self.repository.project.folder().join("scenario.toml");
        let scenario = scenario.to_str().unwrap().to_owned();
        let words = ["ralplan", "--agent", "rehearsal", "--scenario", &scenario];
        self.run(&[&words[..], flags, &["greet people by name"]].concat())
    }

    fn run_id(&self) -> String {
        let runs = self.repository.project.root().join(format!(".{}/runs", self.program));
        let entries = fs::read_dir(runs).unwrap().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.retain(|name| !name.starts_with('.'));
        names.sort();
        names.pop().unwrap()
    }
}

fn quoted(word: &str) -> String {
    if word.contains(' ') { format!("\"{word}\"") } else { word.to_owned() }
}

/// The text without ids and ages, which differ from run to run, and without the version
/// of Landlock, which differs from kernel to kernel.
fn mask(text: &str) -> String {
    let is_id = |token: &str| {
        token.len() == 36
            && token.char_indices().all(|(at, c)| match at {
                8 | 13 | 18 | 23 => c == '-',
                _ => c.is_ascii_hexdigit(),
            })
    };
    let mut masked = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        if rest.get(..36).is_some_and(is_id) {
            masked.push_str("RUN-ID");
            rest = &rest[36..];
        } else {
            let next = rest.chars().next().unwrap();
            masked.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    let line = |line: &str| {
        let cells = line.split("  ").map(|cell| match cell.trim().strip_suffix(" s") {
            Some(age) if age.chars().all(|c| c.is_ascii_digit()) => "AGE".to_owned(),
            _ => cell.to_owned(),
        });
        cells.collect::<Vec<_>>().join("  ").replace(env!("CARGO_PKG_VERSION"), "VERSION")
    };
    let lines: Vec<String> = masked.split('\n').map(line).collect();
    let text = lines.join("\n");
    (1..100)
        .fold(text, |text, version| text.replace(&format!("(Landlock {version})"), "(Landlock N)"))
}

#[test]
fn messages_of_a_run() {
    let mut fixture = Fixture::new("omx");
    fixture.run(&["runs"]);
    fixture.run(&["runs", "show"]);
    fixture.run(&["runs", "resume"]);
    fixture.run(&["ralplan", "--resume"]);
    fixture.run(&["ps"]);
    fixture.plan(&["--check", "sh check.sh"]);
    let id = fixture.run_id();
    fixture.run(&["runs"]);
    fixture.run(&["runs", "show", &id]);
    fixture.run(&["runs", "show", "nope"]);
    fixture.run(&["runs", "resume", &id]);
    fixture.run(&["runs", "answer", &id, "yes"]);
    fixture.run(&["runs", "limit", &id]);
    fixture.run(&["runs", "limit", &id, "20"]);
    fixture.run(&["runs", "integrate"]);
    fixture.run(&["runs", "integrate"]);
    fixture.run(&["runs", "gc"]);
    fixture.run(&["status"]);
    insta::assert_snapshot!("run", fixture.transcript);
}

#[test]
fn messages_about_a_request_for_a_run() {
    let mut fixture = Fixture::new("omx");
    fixture.run(&["ralph"]);
    fixture.run(&["ralph", "a task"]);
    fixture.run(&["ralph", "--agent", "rehearsal", "a task"]);
    fixture.run(&["ralph", "--agent", "codex", "a task"]);
    fixture.run(&["ralph", "--agent", "nobody", "a task"]);
    fixture.plan(&["--budget-usd", "much"]);
    fixture.plan(&["--budget-time", "long"]);
    fixture.plan(&["--resume", "--decide", "draft=maybe"]);
    fixture.repository.project.write("README.md", "changed\n");
    fixture.plan(&["--in-place"]);
    fixture.run(&["pipeline", "--stages", "missing.toml", "a task"]);
    insta::assert_snapshot!("run_requests", fixture.transcript);
}

#[test]
fn messages_of_listings() {
    let mut fixture = Fixture::new("omx");
    for args in [
        &["list", "agents"][..],
        &["list", "roles"],
        &["list", "skills"],
        &["list", "modes"],
        &["list", "show", "nobody"],
        &["config", "list", "--show-origin"],
        &["config", "path", "--show-origin"],
        &["config", "get", "agent"],
        &["config", "set", "agent", "codex"],
        &["config", "get", "agent", "--show-origin"],
        &["config", "set", "agents", "codex"],
        &["launch"],
        &["launch", "claude"],
        &["ask", "codex", "why?"],
        &["ask", "codex", ""],
        &["ask", "rehearsal", "--role", "nobody", "why?"],
        &["hook", "explain", "$ralph make the tests pass"],
        &["hook", "explain", "why did ralph start?"],
        &["mcp", "--tools", "nothing"],
        &["guard", "--", "true"],
    ] {
        fixture.run(args);
    }
    insta::assert_snapshot!("listings", fixture.transcript);
}

#[test]
fn messages_of_setup() {
    let mut fixture = Fixture::new("omx");
    for args in [
        &["setup"][..],
        &["setup", "--host", "all"],
        &["setup", "--host", "all"],
        &["uninstall", "--host", "codex"],
        &["uninstall"],
        &["uninstall"],
    ] {
        fixture.run(args);
    }
    insta::assert_snapshot!("setup", fixture.transcript);
}

#[test]
fn messages_of_a_dry_setup() {
    let mut fixture = Fixture::new("omx");
    fixture.run(&["setup", "--host", "gemini", "--dry-run"]);
    // The roles' and skills' own text is pinned elsewhere.
    let is_content = |line: &&str| line.starts_with('+') && !line.starts_with("+++");
    let is_settings = |line: &str| line.contains("settings.json");
    let mut in_settings = false;
    let report: Vec<&str> = fixture
        .transcript
        .lines()
        .filter(|line| {
            if line.starts_with("+++") {
                in_settings = is_settings(line);
            }
            in_settings || !is_content(line)
        })
        .collect();
    insta::assert_snapshot!("dry_setup", report.join("\n"));
}

/// Issue of old: hints named `omx` whatever the program was called by.
#[test]
fn messages_name_the_program_by_its_dialect() {
    let mut fixture = Fixture::new("omc");
    fixture.run(&["runs", "show", "nope"]);
    fixture.run(&["ask", "rehearsal", "--role", "nobody", "why?"]);
    fixture.plan(&["--check", "sh check.sh"]);
    fixture.run(&["runs", "show"]);
    fixture.run(&["runs", "integrate"]);
    fixture.run(&["launch", "claude"]);
    fixture.run(&["doctor"]);
    fixture.run(&["setup", "--host", "all"]);
    fixture.run(&["doctor"]);
    fixture.run(&["status"]);
    fixture.plan(&["--check", "sh check.sh", "--detach"]);
    fixture.run(&["runs", "attach"]);
    // A hint is a command line; sentences may speak of omx itself.
    let is_hint = |line: &&str| {
        let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '-').collect();
        words.windows(2).any(|pair| pair[0] == "omx" && !["is", "itself"].contains(&pair[1]))
    };
    let hints: Vec<&str> = fixture.transcript.lines().filter(is_hint).collect();
    assert!(hints.is_empty(), "{hints:#?}\n{}", fixture.transcript);
}
