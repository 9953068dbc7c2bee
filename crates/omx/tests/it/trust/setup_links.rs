//! trust.md 2.5 and 6.5: a project's setup writes nothing outside the project, and no setup
//! makes hosts trust a program that others can replace.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use omx_testkit::TestProject;

use super::kit::Clone;

/// A clone whose files and folders are links to the person's own.
fn clone_with_links(links: &[(&str, &str)]) -> Clone {
    let clone = Clone::with(&[]);
    let home = clone.project.home();
    fs::write(home.join(".bashrc"), "# mine\n").unwrap();
    fs::create_dir_all(home.join("folder")).unwrap();
    for (name, target) in links {
        let path = clone.project.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(home.join(target), path).unwrap();
    }
    clone
}

fn files_of_home(project: &TestProject) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for folder in ["", "folder"] {
        for entry in fs::read_dir(project.home().join(folder)).unwrap() {
            names.push(format!("{folder}/{}", entry.unwrap().file_name().to_str().unwrap()));
        }
    }
    // Manifests, and the hosts' own lists of trusted projects.
    names.retain(|name| !["/.local", "/.codex", "/.gemini"].contains(&name.as_str()));
    names.sort();
    names
}

#[test]
fn trust_2_5_a_projects_setup_writes_through_no_link() {
    let links = [("AGENTS.md", ".bashrc"), ("CLAUDE.md", ".bash_profile"), (".claude", "folder")];
    let clone = clone_with_links(&links);
    let before = files_of_home(&clone.project);
    for host in ["codex", "claude", "gemini"] {
        let args = ["setup", "--scope", "project", "--host", host];
        let outcome = clone.project.omx(&args);
        let text = format!("{}{}", outcome.stdout, outcome.stderr);
        if host != "gemini" {
            assert_ne!(outcome.code, Some(0), "{host}: {outcome:?}");
            assert!(text.contains("is a link"), "{host}: {outcome:?}");
        }
    }
    assert_eq!(fs::read_to_string(clone.project.home().join(".bashrc")).unwrap(), "# mine\n");
    assert_eq!(files_of_home(&clone.project), before);
    // What is no link is set up.
    assert!(clone.project.root().join("GEMINI.md").exists());
}

/// Nothing else is wrong with this clone, and the link is not the last part of any path.
#[test]
fn trust_2_5_a_linked_folder_is_refused_and_named_once() {
    let clone = clone_with_links(&[(".claude", "folder")]);
    let before = files_of_home(&clone.project);
    let outcome = clone.project.omx(&["setup", "--scope", "project", "--host", "claude"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert_eq!(files_of_home(&clone.project), before);
    let link = clone.project.root().join(".claude");
    let said = format!("did not change {}: it is a link", link.display());
    assert_eq!(outcome.stderr.matches("is a link").count(), 1, "{outcome:?}");
    assert!(outcome.stderr.contains(&said), "{outcome:?}");
}

#[test]
fn trust_2_5_a_users_setup_says_where_a_link_leads() {
    let clone = Clone::with(&[]);
    let home = clone.project.home();
    fs::create_dir_all(home.join("dotfiles")).unwrap();
    fs::create_dir_all(home.join(".claude")).unwrap();
    fs::write(home.join("dotfiles/CLAUDE.md"), "# mine\n").unwrap();
    symlink("../dotfiles/CLAUDE.md", home.join(".claude/CLAUDE.md")).unwrap();
    let outcome = clone.project.omx(&["setup", "--host", "claude"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let text = format!("{}{}", outcome.stdout, outcome.stderr);
    assert!(text.contains("dotfiles/CLAUDE.md"), "{text}");
}

#[test]
fn trust_6_5_a_program_that_others_can_write_is_not_set_up_unasked() {
    let clone = Clone::with(&[]);
    let folder = clone.project.folder().join("shared");
    fs::create_dir(&folder).unwrap();
    let program = folder.join("omx");
    fs::copy(clone.project.binary(), &program).unwrap();
    fs::set_permissions(&program, PermissionsExt::from_mode(0o777)).unwrap();
    let mut command = clone.project.command(&program);
    let outcome = command.args(["setup", "--host", "claude"]).output().unwrap();
    let said = String::from_utf8(outcome.stderr).unwrap();
    assert_eq!(outcome.status.code(), Some(3), "{said}");
    assert!(said.contains("can write"), "{said}");
    assert!(!clone.project.home().join(".claude").exists());
}

/// Whoever can write the folder can put another program there.
#[test]
fn trust_6_5_a_program_in_a_folder_that_others_can_write_is_asked_about() {
    let clone = Clone::with(&[]);
    let folder = clone.project.folder().join("shared");
    fs::create_dir(&folder).unwrap();
    let program = folder.join("omx");
    fs::copy(clone.project.binary(), &program).unwrap();
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o777)).unwrap();
    let setup = |answer: &str| {
        let words = [program.to_str().unwrap(), "setup", "--host", "claude"];
        clone.project.words_on_terminal(&words, &[], answer, || {})
    };
    let refused = setup("n\n");
    assert_eq!(refused.code, Some(3), "{refused:?}");
    let said = format!("can write {}, so", folder.display());
    assert!(refused.stdout.contains(&said), "{refused:?}");
    assert!(refused.stdout.contains("Set it up anyway? [y/N]"), "{refused:?}");
    assert!(!clone.project.home().join(".claude").exists());
    let agreed = setup("y\n");
    assert_eq!(agreed.code, Some(0), "{agreed:?}");
    assert!(clone.project.home().join(".claude/settings.json").exists(), "{agreed:?}");
}
