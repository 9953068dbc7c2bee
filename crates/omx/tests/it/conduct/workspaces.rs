//! Where a run works, and how its work is merged.

use super::kit::Repository;

#[test]
fn conductor_a_default_run_leaves_the_checkout_unchanged() {
    let repository = Repository::new();
    repository.project.write("README.md", "changed and not committed\n");
    repository.project.write("new.txt", "not in git\n");
    let before = repository.checkout();
    let outcome = repository.run("autopilot", &["greet people by name"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert_eq!(repository.checkout(), before);
    let status = repository.project.run_git(&["status", "--porcelain"]).stdout;
    assert_eq!(status, " M README.md\n?? new.txt\n");

    // Nothing is merged into a dirty checkout.
    let refused = repository.project.omx(&["runs", "integrate"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("uncommitted"), "{refused:?}");
    assert_eq!(repository.checkout(), before);
}

#[test]
fn conductor_a_run_in_place_needs_a_clean_checkout() {
    let repository = Repository::new();
    repository.project.write("README.md", "changed and not committed\n");
    let refused = repository.run("autopilot", &["--in-place", "greet people by name"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("allow them with dirty"), "{refused:?}");
    assert!(!repository.project.root().join("greet.sh").exists());
}

#[test]
fn conductor_a_result_is_merged_once_and_a_conflict_is_not() {
    let repository = Repository::new();
    assert_eq!(repository.run("autopilot", &["greet people by name"]).code, Some(0));
    let merged = repository.project.omx(&["runs", "integrate", "--json"]).ok();
    assert_eq!(merged["into"], "main");
    assert!(repository.project.root().join("greet.sh").exists());
    let again = repository.project.omx(&["runs", "integrate"]);
    assert!(again.stdout.contains("already"), "{again:?}");

    let repository = Repository::new();
    assert_eq!(repository.run("autopilot", &["greet people by name"]).code, Some(0));
    repository.project.write("greet.sh", "echo mine\n");
    let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
    repository.project.run_git(&["add", "-A"]);
    let commit = repository.project.run_git(&[&identity[..], &["commit", "-qm", "mine"]].concat());
    assert_eq!(commit.code, Some(0), "{commit:?}");
    let before = repository.checkout();
    let refused = repository.project.omx(&["runs", "integrate"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("greet.sh"), "{refused:?}");
    assert_eq!(repository.checkout(), before);
    assert_eq!(repository.project.run_git(&["status", "--porcelain"]).stdout, "");
}
