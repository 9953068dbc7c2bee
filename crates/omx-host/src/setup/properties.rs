//! Setup and uninstall over files made at random: what goes in comes out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::disk::SetupDisk;
use super::manifest::Manifest;
use super::paths::{HostHomes, SetupCatalog, SetupPaths, SetupScope, SkillFile};
use super::plan::{plan_setup, plan_uninstall};
use super::planner::{SetupNoteKind, SetupPlan};
use omx_kernel::HostKind;

/// Files in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct MemoryDisk(BTreeMap<PathBuf, String>);

impl SetupDisk for MemoryDisk {
    fn read(&self, path: &Path) -> Result<Option<String>, String> {
        Ok(self.0.get(path).cloned())
    }

    fn real(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    fn find_link(&self, _: &Path, _: &Path) -> Option<PathBuf> {
        None
    }

    fn is_folder(&self, _: &Path) -> bool {
        true
    }
}

impl MemoryDisk {
    fn carry_out(&mut self, plan: &SetupPlan) {
        for change in &plan.changes {
            assert_eq!(self.0.get(&change.path).cloned(), change.old);
            match &change.new {
                Some(text) => self.0.insert(change.path.clone(), text.clone()),
                None => self.0.remove(&change.path),
            };
        }
    }
}

fn paths(omx: &str) -> SetupPaths {
    SetupPaths {
        dialect: omx_kernel::Dialect::OMX,
        homes: HostHomes::locate(Path::new("/h"), |_| None),
        scope: SetupScope::User,
        omx: omx.into(),
        version: "1".to_owned(),
        manifests: "/h/state".into(),
        hooked: Vec::new(),
        of_others: Vec::new(),
    }
}

fn catalog() -> SetupCatalog {
    let block = |host| (host, "<!-- OMX:START -->\nwords\n<!-- OMX:END -->\n".to_owned());
    SetupCatalog {
        roles: Vec::new(),
        skills: vec![SkillFile { name: "s".to_owned(), text: "skill\n".to_owned() }],
        guidance: HostKind::ALL.map(block).to_vec(),
    }
}

/// A JSON value as text with white space, comments and all.
fn json_value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("-1.50e3".to_owned()),
        "\"[a-z ,{}\\[\\]/é]{0,6}\"",
    ];
    let space = prop_oneof![
        4 => Just(String::new()),
        2 => Just(" ".to_owned()),
        2 => Just("\n  ".to_owned()),
        1 => Just(" // a, comment }\n\t".to_owned()),
        1 => Just("/* b */".to_owned()),
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        let list = prop::collection::vec((space.clone(), inner.clone(), space.clone()), 0..4);
        let members = prop::collection::vec((name(), space.clone(), inner, space.clone()), 0..4);
        prop_oneof![
            (list, space.clone(), any::<bool>()).prop_map(|(list, end, trailing)| {
                let items: Vec<String> =
                    list.iter().map(|(a, value, b)| format!("{a}{value}{b}")).collect();
                let comma = if trailing && !items.is_empty() { "," } else { "" };
                format!("[{}{comma}{end}]", items.join(","))
            }),
            (members, space.clone(), any::<bool>()).prop_map(|(members, end, trailing)| {
                let mut seen = Vec::new();
                let mut items = Vec::new();
                for (name, a, value, b) in members {
                    if !seen.contains(&name) {
                        items.push(format!("{a}\"{name}\":{value}{b}"));
                        seen.push(name);
                    }
                }
                let comma = if trailing && !items.is_empty() { "," } else { "" };
                format!("{{{}{comma}{end}}}", items.join(","))
            }),
        ]
    })
}

/// Names, some of them those omx uses.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => Just("hooks".to_owned()),
        1 => Just("mcpServers".to_owned()),
        1 => Just("Stop".to_owned()),
        1 => Just("omx".to_owned()),
        3 => "[a-z]{1,4}",
    ]
}

fn json_file() -> impl Strategy<Value = String> {
    let hooks = prop_oneof![
        Just(
            r#""hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}"#
                .to_owned()
        ),
        Just("\"hooks\": {\n    // none yet\n  }".to_owned()),
        Just("\"hooks\" : { \"Stop\" : [ ] ,}".to_owned()),
        Just("\"mcpServers\": {\"foreign\": {\"command\": \"x\"}, }".to_owned()),
    ];
    let object = (prop::option::of(hooks), json_value(), ",? ?").prop_map(|(hooks, value, end)| {
        let end = if end.contains(',') { "," } else { "" };
        match hooks {
            Some(hooks) => format!("{{\n  \"a\": {value},\n  {hooks}{end}\n}}"),
            None => format!("{{\"a\": {value}{end}}}"),
        }
    });
    let text =
        prop_oneof![4 => object, 2 => json_value(), 1 => "[ \n]{0,3}", 1 => "[{}\\[\\]\",a:]{0,9}"];
    formed(text)
}

fn toml_file() -> impl Strategy<Value = String> {
    let lines = prop_oneof![
        Just("model = \"x\" # why".to_owned()),
        Just("[features]".to_owned()),
        Just("hooks = true".to_owned()),
        Just("[mcp_servers.foreign]\ncommand = \"y\"".to_owned()),
        Just("mcp_servers = { a = { command = \"y\" } }".to_owned()),
        Just("mcp_servers = {}".to_owned()),
        Just("[[hooks.Stop]]".to_owned()),
        Just("hooks.state = {}".to_owned()),
        Just("[hooks.state.\"/x:stop:0:0\"]\ntrusted_hash = \"sha256:0\"".to_owned()),
        Just(
            "[hooks.state.\"/h/.codex/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:1\""
                .to_owned()
        ),
        Just("text = '''\n[mcp_servers.omx]\n'''".to_owned()),
        Just("# [mcp_servers.omx]".to_owned()),
        Just(String::new()),
        "[a-z]{1,3} = [0-9]{1,3}",
    ];
    formed(prop::collection::vec(lines, 0..8).prop_map(|lines| lines.join("\n")))
}

fn markdown_file() -> impl Strategy<Value = String> {
    formed(prop_oneof![
        8 => "[a-z# \n`]{0,40}",
        1 => Just("<!-- OMX:START -->".to_owned()),
        1 => Just("x <!-- OMX:START -->\nmine\n<!-- OMX:END -->".to_owned()),
    ])
}

/// With or without a byte-order mark, `\r\n` and a last line end.
fn formed(text: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (text, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(text, mark, crlf, end)| {
        let mut text = if crlf { text.replace('\n', "\r\n") } else { text };
        if end {
            text.push_str(if crlf { "\r\n" } else { "\n" });
        }
        if mark { format!("\u{feff}{text}") } else { text }
    })
}

fn shelf() -> impl Strategy<Value = MemoryDisk> {
    let some = |text: BoxedStrategy<String>| prop::option::weighted(0.8, text);
    (
        some(json_file().boxed()),
        some(json_file().boxed()),
        some(json_file().boxed()),
        some(toml_file().boxed()),
        some(json_file().boxed()),
        some(markdown_file().boxed()),
        some("[a-z]{0,3}".boxed()),
    )
        .prop_map(|(settings, servers, hooks, config, gemini, words, skill)| {
            let files = [
                ("/h/.claude/settings.json", settings),
                ("/h/.claude.json", servers),
                ("/h/.codex/hooks.json", hooks),
                ("/h/.codex/config.toml", config),
                ("/h/.gemini/settings.json", gemini),
                ("/h/.codex/AGENTS.md", words),
                ("/h/.gemini/skills/s/SKILL.md", skill),
            ];
            MemoryDisk(
                files.into_iter().filter_map(|(path, text)| Some((path.into(), text?))).collect(),
            )
        })
}

fn has_members(text: &str) -> bool {
    let (_, body) = super::text::TextForm::split(text);
    body.starts_with('{') && super::json::read(body).is_ok_and(|root| !root.children().is_empty())
}

fn set_up(shelf: &mut MemoryDisk, omx: &str, manifest: Option<Manifest>) -> SetupPlan {
    let plan = plan_setup(&paths(omx), shelf, manifest, &catalog(), &HostKind::ALL);
    shelf.carry_out(&plan);
    plan
}

fn take_out(shelf: &mut MemoryDisk, manifest: Manifest) -> SetupPlan {
    let plan = plan_uninstall(&paths("/bin/omx"), shelf, Some(manifest), &HostKind::ALL);
    shelf.carry_out(&plan);
    plan
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// R13, hosts.md 2.2, 2.3: setup, setup again, another program, uninstall.
    #[test]
    fn r13_what_goes_in_comes_out(before in shelf()) {
        let mut shelf = before.clone();
        let first = set_up(&mut shelf, "/bin/omx", None);
        let once = shelf.clone();
        let second = set_up(&mut shelf, "/bin/omx", Some(first.after.clone()));
        prop_assert_eq!(&second.changes, &[]);
        prop_assert_eq!(&second.after, &first.after);
        prop_assert_eq!(&shelf, &once);
        // What is not touched is named.
        for note in first.notes.iter().filter(|note| note.kind == SetupNoteKind::Refused) {
            prop_assert_eq!(before.0.get(&note.path), shelf.0.get(&note.path));
        }
        let mut plain = shelf.clone();
        let gone = take_out(&mut plain, first.after.clone());
        prop_assert_eq!(&plain, &before);
        prop_assert!(gone.after.files.is_empty());

        let moved = set_up(&mut shelf, "/other place/omx", Some(first.after));
        let again = set_up(&mut shelf, "/other place/omx", Some(moved.after.clone()));
        prop_assert_eq!(&again.changes, &[]);
        let old = shelf.0.values().filter(|text| text.contains("/bin/omx")).count();
        prop_assert_eq!(old, 0);
        let all = take_out(&mut shelf, moved.after);
        prop_assert_eq!(&shelf, &before);
        prop_assert!(all.notes.iter().all(|note| note.kind != SetupNoteKind::Edited));
    }

    /// hosts.md 2.3: what the person writes between setup and uninstall stays,
    /// and nothing of omx's.
    #[test]
    fn r13_what_the_person_adds_stays(before in shelf(), line in "[a-z]{1,8}") {
        let mut shelf = before.clone();
        let first = set_up(&mut shelf, "/bin/omx", None);
        let added = |shelf: &mut MemoryDisk| {
            for (path, text) in &mut shelf.0 {
                let at = if text.starts_with('\u{feff}') { 3 } else { 0 };
                match path.extension().and_then(|ending| ending.to_str()) {
                    Some("md" | "toml") => text.insert_str(at, &format!("# {line}\n")),
                    // Where the object was empty, a comma would be one too many.
                    Some("json") if before.0.get(path).is_some_and(|old| has_members(old)) => {
                        text.insert_str(at + 1, &format!("\"{line} \": [1], "));
                    }
                    _ => {}
                }
            }
        };
        let skill = Path::new("/h/.codex/skills/s/SKILL.md");
        added(&mut shelf);
        let gone = take_out(&mut shelf, first.after);
        let mut wanted = before.clone();
        added(&mut wanted);
        // A whole file of omx's that was changed is kept and named.
        prop_assert!(gone.notes.iter().any(|note| note.path == skill && note.kind == SetupNoteKind::Edited));
        for (path, text) in &wanted.0 {
            prop_assert_eq!(Some(text), shelf.0.get(path));
        }
    }
}
