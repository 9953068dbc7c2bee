//! Ordinary work under confinement, with real programs: what people use every day must not
//! need an exception (trust.md 3.0).

use std::fs;
use std::path::Path;

use omx_testkit::CommandOutcome;
use rustix::process::Signal;

use super::kit::{DEADLINE, Repository};
use super::own_git::{git, on_branch};
use super::scenario::{ralph_scenario, run, write};

/// The toolchain that builds these tests, without the wrappers of a version manager, which
/// look for their files in the home directory.
fn path() -> String {
    let toolchain = Path::new(env!("CARGO")).parent().unwrap();
    format!("{}:/usr/bin:/bin:{}", toolchain.display(), std::env::var("PATH").unwrap())
}

fn files(repository: &Repository) {
    let manifest = "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let test = "#[test]\nfn temporary_files_work() {\n    let file = \
                std::env::temp_dir().join(\"x\");\n    std::fs::write(&file, \"x\").unwrap();\n}\n";
    let python = "def test_temporary_files_work(tmp_path):\n    (tmp_path / 'x').write_text('x')\n";
    for (name, text) in [
        ("Cargo.toml", manifest),
        ("src/lib.rs", test),
        ("test_small.py", python),
        ("package.json", r#"{"name":"small","scripts":{"test":"node test.js"}}"#),
        ("test.js", "require('fs').mkdtempSync(require('os').tmpdir() + '/x')\n"),
        (".gitignore", "target\n__pycache__\n.pytest_cache\nCargo.lock\n*.log\n"),
    ] {
        repository.project.write(name, text);
    }
    git(repository, &["add", "-A"]);
    git(repository, &["commit", "-qm", "a small project"]);
}

fn repository(actions: &str) -> Repository {
    let mut repository = Repository::playing(&ralph_scenario(actions));
    repository.check = "cargo test --offline --quiet".to_owned();
    files(&repository);
    repository
}

/// A builder that edits, tests in three languages, uses git and calls a tool.
const WORK: [&str; 4] = [
    "echo built > work.txt; echo '// edited' >> src/lib.rs; sed -i s/small/smaller/ package.json",
    "cargo test --offline --quiet > cargo.log 2>&1 && npm test --silent && \
     /usr/bin/python3 -m pytest -q test_small.py > pytest.log && echo tested > tested.txt",
    "git status --short && git diff --stat && git log --oneline -1 && git stash -q && git stash \
     pop -q && git blame README.md && echo used > git.txt",
    "cat <<EOF > here.txt\nhere\nEOF\nmktemp && python3 -c 'import multiprocessing as m; m.Lock()'",
];

#[test]
fn trust_3_0_normal_work_needs_no_exception() {
    let call =
        "  { mcp = { tool = \"state_write\", args = { mode = \"ultrawork\", active = true } } },\n";
    let actions: String = WORK.iter().map(|command| run(command)).collect();
    let repository = repository(&(actions + call));
    let mut command = repository.command("ralph", &["work"]);
    let outcome = CommandOutcome::from(command.env("PATH", path()).output().unwrap());
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert!(outcome.stdout.contains("confined  by the kernel"), "{outcome:#?}");
    for (file, text) in [
        ("work.txt", "built\n"),
        ("tested.txt", "tested\n"),
        ("git.txt", "used\n"),
        ("here.txt", "here\n"),
    ] {
        assert_eq!(on_branch(&repository, file), text);
    }
    assert!(on_branch(&repository, "src/lib.rs").ends_with("// edited\n"));
    assert_eq!(repository.document("ultrawork")["active"], true);
}

#[test]
fn trust_3_0_a_killed_run_resumes_its_work_under_the_same_confinement() {
    let wait = "test -e again || { touch again; echo x > $HOME/planted; sleep 60; }; \
                cargo test --offline --quiet > cargo.log 2>&1 && echo tested > tested.txt; \
                echo x > $HOME/planted; true";
    let repository = repository(&(write("work.txt", "done\n") + &run(wait)));
    let mut command = repository.command("ralph", &["work"]);
    let mut running = super::kit::RunningOmx(command.env("PATH", path()).spawn().unwrap());
    let worktree = repository.project.root().join(".omx/worktrees/run").join(repository.id());
    omx_testkit::await_condition("the agent works", DEADLINE, || worktree.join("again").exists());
    running.signal(Signal::KILL);
    running.code();
    repository.await_nobody();
    let mut resume = repository.project.omx_command(&["runs", "resume"]);
    let resumed = CommandOutcome::from(resume.env("PATH", path()).output().unwrap());
    assert_eq!(resumed.code, Some(0), "{resumed:#?}");
    assert_eq!(on_branch(&repository, "tested.txt"), "tested\n");
    assert!(!repository.project.home().join("planted").exists());
    assert!(fs::read_to_string(worktree.join("work.txt")).is_ok());
}
