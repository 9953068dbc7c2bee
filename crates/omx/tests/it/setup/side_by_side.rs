//! state.md 1.5, hosts.md 2.4: both dialects may be set up for one person. Neither touches
//! what the other wrote.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use omx_testkit::TestProject;

use super::kit::{CODEX, home, json, person, run, tree, under};

const HOOK_FILES: [&str; 3] =
    [".claude/settings.json", ".codex/hooks.json", ".gemini/settings.json"];

/// How many hooks each host calls of a program.
fn hooks(project: &TestProject, program: &Path) -> [usize; 3] {
    let call = format!("\"{} hook --host ", program.display());
    HOOK_FILES.map(|file| home(project, file).matches(&call).count())
}

type Tree = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// What one dialect wrote, byte by byte, apart from its own records.
fn files(project: &TestProject) -> Tree {
    let mut files = tree(&project.home());
    files.retain(|path, _| !path.starts_with(".local"));
    files
}

#[test]
fn state_1_5_setup_of_one_dialect_leaves_the_other_as_it_was() {
    for (one, two) in [("omx", "omc"), ("omc", "omx")] {
        let project = person();
        let before = files(&project);
        let [one, two] = [one, two].map(|name| under(&project, &format!("bin/{name}")));
        let set_up = |program| run(&project, program, &["setup", "--host", "all"]);
        let uninstall = |program| run(&project, program, &["uninstall"]);

        assert_eq!(set_up(&one).code, Some(0));
        let only_one = files(&project);
        let (all, none) = (hooks(&project, &one), [0; 3]);
        assert!(all.iter().all(|count| *count >= 7), "{all:?}");
        let outcome = set_up(&two);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        // What both share is one line for each host, not one for each file.
        let is_kept = |line: &str| line.starts_with("kept ") && line.contains("another setup");
        assert!(!outcome.stdout.lines().any(is_kept), "{outcome:?}");
        assert!(outcome.stdout.lines().count() < 30, "{outcome:?}");
        let shared = outcome.stdout.lines().filter(|line| line.contains("of another setup serve"));
        assert_eq!(shared.count(), 3, "{outcome:?}");
        assert_eq!(hooks(&project, &one), all);
        assert_eq!(hooks(&project, &two), all);
        for name in ["omx", "omc"] {
            assert!(home(&project, ".codex/config.toml").contains(&format!("mcp_servers.{name}")));
            assert!(json(&project, ".claude.json")["mcpServers"][name].is_object());
        }
        for program in [&one, &two] {
            let again = set_up(program);
            assert!(again.stdout.starts_with("nothing to do"), "{again:?}");
        }
        // The second goes: what is left is the first's, byte for byte, and complete.
        let outcome = uninstall(&two);
        assert_eq!(outcome.code, Some(0));
        assert!(!outcome.stdout.contains("is still set up"), "{outcome:?}");
        let left = files(&project);
        let is_same = |path: &&PathBuf| left.get(*path) == only_one.get(*path);
        let changed: Vec<&PathBuf> =
            left.keys().chain(only_one.keys()).filter(|path| !is_same(path)).collect();
        assert_eq!(changed, Vec::<&PathBuf>::new());

        // The first goes: the second still works, and Codex still trusts its hooks.
        assert_eq!(set_up(&two).code, Some(0));
        let config = home(&project, ".codex/config.toml");
        let trusted = |config: &str| config.matches("trusted_hash").count();
        let outcome = uninstall(&one);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
        let name = two.file_name().unwrap().to_str().unwrap();
        assert!(outcome.stdout.contains(&format!("run {name} setup")), "{outcome:?}");
        assert_eq!(hooks(&project, &one), none);
        assert_eq!(hooks(&project, &two), all);
        let left = home(&project, ".codex/config.toml");
        assert_eq!(trusted(&left) * 2, trusted(&config), "{left}");
        // After the person's own hook.
        assert!(left.contains("hooks.json:stop:1:0\"]"), "{left}");
        assert_eq!(set_up(&two).code, Some(0));
        assert_eq!(hooks(&project, &two), all);

        // Both gone: nothing of either is left, and what is the person's stays.
        let outcome = uninstall(&two);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
        for (path, (_, bytes)) in files(&project) {
            let text = String::from_utf8_lossy(&bytes);
            let is_left =
                ["hook --host", "trusted_hash", "omx", "omc"].iter().any(|it| text.contains(it));
            assert!(!is_left, "{}: {text}", path.display());
        }
        assert!(home(&project, ".codex/config.toml").starts_with(CODEX));
        assert!(home(&project, ".codex/hooks.json").contains("say stop"));
        assert!(home(&project, ".claude/settings.json").contains("say done"));
        let left = files(&project);
        assert_eq!(before.keys().find(|path| !left.contains_key(*path)), None);
    }
}
