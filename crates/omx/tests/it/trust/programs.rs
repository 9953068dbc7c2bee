//! trust.md 2.6: a repository does not supply the programs that omx starts.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use omx_testkit::CommandOutcome;

use super::kit::Clone;

/// Programs that leave a trace outside the project.
const PROGRAMS: [&str; 6] = ["git", "setsid", "sh", "claude", "codex", "tmux"];

/// A clone with programs of its own in `bin/`.
fn clone_with_programs() -> Clone {
    let clone = Clone::with(&[("bin/README", "tools")]);
    for name in PROGRAMS {
        let path = clone.project.root().join("bin").join(name);
        let trace = clone.trace();
        let text = format!("#!/bin/sh\necho {name} \"$@\" >> {}\nexit 1\n", trace.display());
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    clone
}

fn run(clone: &Clone, entry: &str, args: &[String]) -> CommandOutcome {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    clone.project.omx_env(&args, &[("PATH", &format!("{entry}:/usr/local/bin:/usr/bin:/bin"))])
}

#[test]
fn trust_2_6_programs_of_the_repository_are_not_started() {
    let clone = clone_with_programs();
    let inside = clone.project.root().join("bin");
    for entry in ["bin", "./bin", inside.to_str().unwrap()] {
        let check = ["--check", "true", "greet"];
        let started = run(&clone, entry, &clone.start_args(&check));
        assert!(started.stdout.contains("c1.build.work"), "{entry}: {started:?}");
        let detached = run(&clone, entry, &clone.start_args(&["--detach", "--check", "true", "x"]));
        assert_eq!(detached.code, Some(0), "{entry}: {detached:?}");
        for line in ["runs", "runs integrate", "doctor", "list agents", "ask claude hello"] {
            let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
            run(&clone, entry, &args);
        }
        let trace = fs::read_to_string(clone.trace()).unwrap_or_default();
        assert_eq!(trace, "", "{entry}");
    }
}

/// Which programs it names depends on the folder the caller stands in.
#[test]
fn trust_2_6_a_relative_entry_that_leads_out_of_the_project_is_ignored() {
    let clone = clone_with_programs();
    let tools = clone.project.folder().join("tools");
    fs::rename(clone.project.root().join("bin"), tools).unwrap();
    for line in ["runs integrate", "doctor", "list agents", "ask claude hello"] {
        let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
        run(&clone, "../tools", &args);
    }
    assert_eq!(fs::read_to_string(clone.trace()).unwrap_or_default(), "");
}
