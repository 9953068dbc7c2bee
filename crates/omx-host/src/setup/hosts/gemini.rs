//! Gemini CLI: hooks and server in its settings. It warns about a project's hooks until
//! they are in its list of trusted hooks.

use serde_json::Value;

use super::common::{
    HookForm, HostSetup, add_guidance, add_skills, desired_hooks, desired_server,
    format_markdown_agent, hook_command, names,
};
use crate::hosts::{ApprovalForm, HomeVariable, HostHome, HostSpec, OutputForm};
use crate::setup::edit::FileFormat;
use crate::setup::fragment::{ConflictRule, DesiredFragment, FragmentSlot, Recognizer};
use crate::setup::paths::{SetupCatalog, SetupScope};
use crate::setup::planner::SetupPlanner;
use omx_kernel::HostKind;

const HOST: HostKind = HostKind::Gemini;

/// The row of this host.
pub(crate) static SPEC: HostSpec = HostSpec {
    kind: HOST,
    home: HostHome { folder: ".gemini", variable: "GEMINI_CLI_HOME", names: HomeVariable::Parent },
    guidance_file: "GEMINI.md",
    guidance: include_str!("../../../../../assets/templates/guidance-gemini.md"),
    hook_files: &["settings.json"],
    events: &[
        ("SessionStart", 5),
        ("BeforeAgent", 5),
        ("BeforeTool", 5),
        ("AfterTool", 5),
        ("PreCompress", 5),
        ("AfterAgent", 5),
        ("SessionEnd", 5),
    ],
    tool_event: "BeforeTool",
    hook_form: HookForm::NamedMilliseconds,
    output: OutputForm {
        hold: "deny",
        feedback: None,
        arguments: "tool_input",
        approval: ApprovalForm::Absent,
    },
    interrupt_mark: None,
    environment_file: None,
    project_folder: None,
    setup: HostSetup { set_up, after_removal: |_| {} },
};

fn set_up(planner: &mut SetupPlanner<'_>, catalog: &SetupCatalog) {
    let home = planner.paths.homes.folder(HOST).to_owned();
    let scope = planner.paths.scope.clone();
    let (folder, words) = match &scope {
        SetupScope::User => (home.clone(), home.join("GEMINI.md")),
        SetupScope::Project(root) => (root.join(".gemini"), root.join("GEMINI.md")),
    };
    let mut desired = desired_hooks(planner.paths, HOST);
    desired.push(desired_server(
        planner.paths,
        FragmentSlot::Member(names(&["mcpServers", planner.paths.dialect.name])),
    ));
    planner.file(HOST, &folder.join("settings.json"), FileFormat::Json, &desired);
    if let SetupScope::Project(root) = &scope {
        let trust = DesiredFragment {
            slot: FragmentSlot::Element(vec![root.to_string_lossy().into_owned()]),
            value: Value::from(format!(
                "{}:{}",
                planner.paths.dialect.name,
                hook_command(planner.paths, HOST)
            )),
            own: Recognizer::Recorded,
            rule: ConflictRule::Required,
            what: "the trust in the hooks".to_owned(),
        };
        planner.file(HOST, &home.join("trusted_hooks.json"), FileFormat::Json, &[trust]);
    }
    for role in &catalog.roles {
        let path = folder.join("agents").join(format!("{}.md", role.name));
        planner.whole(HOST, &path, &format_markdown_agent(role, &[]));
    }
    add_skills(planner, HOST, &folder.join("skills"), catalog);
    add_guidance(planner, HOST, &words, catalog);
}
