//! `setup` and `uninstall`: add omx's parts to the hosts' files, and remove them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use omx_host::setup::{
    ApplyError, FileRecord, FragmentSlot, Manifest, RealDisk, SetupCatalog, SetupFileChange,
    SetupNote, SetupNoteKind, SetupPaths, SetupPlan, SetupScope, SkillFile, apply, lock_setup,
    plan_setup, plan_uninstall, unified_diff,
};
use omx_host::{CatalogError, HostKind, Skill, catalog, guidance};
use omx_kernel::{Dialect, EscapedText, GuardedAct, Refusal, RefusalCode, Value};
use omx_ops::Context;
use omx_store::is_persons;

use super::with_context;
use crate::cli::GlobalArgs;
use crate::cli_setup::{SetupArgs, UninstallArgs};
use crate::cli_values::HostSelection;
use crate::consent;
use crate::edge;
use crate::exit::Exit;
use crate::output::{self, Format};

/// How long to wait for another setup.
const PATIENCE: Duration = Duration::from_secs(5);

/// What to do with the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SetupAction {
    /// Show it.
    Preview,
    /// Carry it out.
    Apply,
}

impl SetupAction {
    const fn from_flag(dry_run: bool) -> Self {
        if dry_run { Self::Preview } else { Self::Apply }
    }
}

/// Sets omx up.
pub fn run(args: &SetupArgs, global: &GlobalArgs, by_name: Dialect) -> Exit {
    let format = Format::from_flag(args.flags.json);
    let action = SetupAction::from_flag(args.flags.dry_run);
    with_context(global, by_name, format, |context| {
        context.check_act(GuardedAct::OfPerson("change what is set up"))?;
        let paths = paths(context, &args.scope)?;
        let hosts = match &args.host {
            Some(HostSelection(hosts)) => hosts.clone(),
            None => installed(&paths)?,
        };
        if action == SetupAction::Apply {
            accept_program(&paths.omx)?;
        }
        let catalog = load_catalog(context, &paths)?;
        let planned = |manifest| plan_setup(&paths, &RealDisk, manifest, &catalog, &hosts);
        let mut plan = run_plan(&paths, action, planned)?;
        plan.notes.extend(path_hint(&paths, context.dialect));
        let none = format!("nothing to do: {} is already set up", context.dialect.name);
        Ok(print_plan(&plan, &paths, &hosts, format, action, &none))
    })
}

/// Asks before hosts learn to call, and to trust, a program that others can replace.
fn accept_program(program: &Path) -> Result<(), Refusal> {
    let is_open = |path: &Path| std::fs::metadata(path).is_ok_and(|data| !is_persons(&data));
    let folder = program.parent().unwrap_or(program);
    let Some(open) = [program, folder].into_iter().find(|path| is_open(path)) else {
        return Ok(());
    };
    let shown = open.to_string_lossy();
    let shown = EscapedText::one_line(&shown);
    let why =
        format!("another user owns or can write {shown}, so they could replace what hosts run");
    if consent::is_interactive() {
        output::note(&format!("warning: {why}"));
        if consent::confirm("Set it up anyway?") {
            return Ok(());
        }
    }
    Err(Refusal::new(
        RefusalCode::NeedsTrust,
        format!("{why}; install it where only you can write, or confirm this on a terminal"),
    ))
}

/// Removes omx from the hosts.
pub fn uninstall(args: &UninstallArgs, global: &GlobalArgs, by_name: Dialect) -> Exit {
    let format = Format::from_flag(args.flags.json);
    let action = SetupAction::from_flag(args.flags.dry_run);
    with_context(global, by_name, format, |context| {
        context.check_act(GuardedAct::OfPerson("change what is set up"))?;
        let paths = paths(context, &args.scope)?;
        let hosts = match &args.host {
            Some(HostSelection(hosts)) => hosts.clone(),
            None => HostKind::ALL.to_vec(),
        };
        let planned = |manifest| plan_uninstall(&paths, &RealDisk, manifest, &hosts);
        let mut plan = run_plan(&paths, action, planned)?;
        plan.notes.extend(other_setup_hint(&plan, &paths));
        let none = format!("nothing to do: {} is not set up here", context.dialect.name);
        Ok(print_plan(&plan, &paths, &hosts, format, action, &none))
    })
}

fn paths(context: &Context<'_>, scope: &str) -> Result<SetupPaths, Refusal> {
    let scope = match scope {
        "project" => SetupScope::Project(context.store()?.root().to_owned()),
        _ => SetupScope::User,
    };
    let hooked = match scope {
        SetupScope::User => Vec::new(),
        SetupScope::Project(_) => {
            hooked_for_all(&edge::setup_paths(context.dialect, SetupScope::User)?)?
        }
    };
    let others = Dialect::ALL.into_iter().filter(|dialect| *dialect != context.dialect);
    let of_others = others.flat_map(|dialect| whole_files(dialect, &scope)).collect();
    Ok(SetupPaths { hooked, of_others, ..edge::setup_paths(context.dialect, scope)? })
}

/// The files that the setup of a dialect wrote as a whole. A manifest that cannot be read
/// names none.
fn whole_files(dialect: Dialect, scope: &SetupScope) -> Vec<PathBuf> {
    let paths = edge::setup_paths(dialect, scope.clone()).ok();
    let manifest = paths.and_then(|paths| Manifest::load(&paths.manifest()).ok().flatten());
    let files = manifest.map(|manifest| manifest.files).unwrap_or_default();
    files.into_iter().filter(is_whole).map(|file| file.path).collect()
}

fn is_whole(file: &FileRecord) -> bool {
    file.parts.iter().any(|part| part.slot == FragmentSlot::Whole)
}

/// The roles and skills that an uninstall removes may have served the other dialect too.
fn other_setup_hint(plan: &SetupPlan, paths: &SetupPaths) -> Option<SetupNote> {
    let removed = |path: &Path| plan.changes.iter().any(|it| it.path == path && it.new.is_none());
    if !plan.during.files.iter().any(|file| is_whole(file) && removed(&file.path)) {
        return None;
    }
    let others = Dialect::ALL.into_iter().filter(|dialect| *dialect != paths.dialect);
    let (other, path) = others.into_iter().find_map(|other| {
        let path = edge::setup_paths(other, paths.scope.clone()).ok()?.manifest();
        Manifest::load(&path).ok().flatten().map(|_| (other.name, path))
    })?;
    let text = format!(
        "{other} is still set up; to give it back the roles and skills that both used, run {other} setup"
    );
    Some(SetupNote { kind: SetupNoteKind::Hint, path, text })
}

/// The hosts whose hooks are installed for all projects.
fn hooked_for_all(user: &SetupPaths) -> Result<Vec<HostKind>, Refusal> {
    let manifest = Manifest::load(&user.manifest())
        .map_err(|error| Refusal::new(RefusalCode::Io, error.to_string()))?;
    let files = manifest.map(|manifest| manifest.files).unwrap_or_default();
    let is_hook =
        |slot: &FragmentSlot| matches!(slot, FragmentSlot::Element(path) if path[0] == "hooks");
    let files = files.iter().filter(|file| file.parts.iter().any(|part| is_hook(&part.slot)));
    Ok(files.map(|file| file.host).collect())
}

/// Agents also run omx by name, so it should be on `PATH`.
fn path_hint(paths: &SetupPaths, dialect: Dialect) -> Option<SetupNote> {
    if edge::on_path(Path::new(dialect.name)).is_some() {
        return None;
    }
    let text = "it is not on PATH: agents cannot run it by name";
    Some(SetupNote { kind: SetupNoteKind::Hint, path: paths.omx.clone(), text: text.to_owned() })
}

/// Returns the hosts that are installed or have been used.
fn installed(paths: &SetupPaths) -> Result<Vec<HostKind>, Refusal> {
    let is_there = |host: &HostKind| {
        edge::on_path(Path::new(host.as_str())).is_some() || paths.homes.folder(*host).is_dir()
    };
    let hosts: Vec<HostKind> = HostKind::ALL.into_iter().filter(is_there).collect();
    if hosts.is_empty() {
        let names = HostKind::NAMES.join(", ");
        return Err(Refusal::invalid_input(format!(
            "no agent is installed (looked for {names}); name one with --host"
        )));
    }
    Ok(hosts)
}

/// Loads what setup installs. A project adds its own roles and skills.
pub(super) fn load_catalog(
    context: &Context<'_>,
    paths: &SetupPaths,
) -> Result<SetupCatalog, Refusal> {
    let tree = match paths.scope {
        // An empty path loads only the built-in roles and skills.
        SetupScope::User => PathBuf::new(),
        SetupScope::Project(_) => context.store()?.tree().to_owned(),
    };
    let dialect = context.dialect;
    let broken = |error: CatalogError| Refusal::invalid_input(error.to_string());
    let file = |skill: Skill| SkillFile { name: skill.name, text: skill.text };
    Ok(SetupCatalog {
        roles: catalog::load_roles(&tree, dialect).map_err(broken)?,
        skills: catalog::load_skills(&tree, dialect)
            .map_err(broken)?
            .into_iter()
            .map(file)
            .collect(),
        guidance: HostKind::ALL.map(|host| (host, guidance(host, dialect))).to_vec(),
    })
}

/// Makes the plan and, if requested, carries it out.
fn run_plan(
    paths: &SetupPaths,
    action: SetupAction,
    planned: impl FnOnce(Option<Manifest>) -> SetupPlan,
) -> Result<SetupPlan, Refusal> {
    let io = |error: &dyn std::error::Error| Refusal::new(RefusalCode::Io, error.to_string());
    let load = || Manifest::load(&paths.manifest()).map_err(|error| io(&error));
    if action == SetupAction::Preview {
        return Ok(planned(load()?));
    }
    let refused = |error: ApplyError| match error {
        ApplyError::Busy => Refusal::new(RefusalCode::Busy, error.to_string()),
        error => io(&error),
    };
    let held = lock_setup(&paths.manifests, PATIENCE).map_err(refused)?;
    let mut plan = planned(load()?);
    let failed = apply(&plan, &held).map_err(refused)?;
    plan.changes.retain(|change| failed.iter().all(|note| note.path != change.path));
    plan.notes.extend(failed);
    Ok(plan)
}

fn print_plan(
    plan: &SetupPlan,
    paths: &SetupPaths,
    hosts: &[HostKind],
    format: Format,
    action: SetupAction,
    none: &str,
) -> Exit {
    let exit = match format {
        Format::Json => output::value(&report(plan, paths, hosts, action), format),
        Format::Text => {
            let mut lines = match action {
                SetupAction::Preview => {
                    plan.changes.iter().flat_map(diff_lines).collect::<Vec<_>>()
                }
                SetupAction::Apply => summary(&plan.changes),
            };
            if plan.changes.is_empty() && !plan.has_failed() {
                lines.push(none.to_owned());
            }
            lines.extend(plan.notes.iter().filter(|note| !note.kind.is_failure()).map(words));
            output::lines(&lines)
        }
    };
    for note in plan.notes.iter().filter(|note| note.kind.is_failure()) {
        if format == Format::Text {
            output::note(&words(note));
        }
    }
    if plan.has_failed() { Exit::Failed } else { exit }
}

/// The lines of a change's diff. A file's own line breaks begin lines, a path's do not.
fn diff_lines(change: &SetupFileChange) -> Vec<String> {
    let diff = unified_diff(change);
    diff.trim_end().lines().map(str::to_owned).collect()
}

/// Formats a note as one line.
fn words(note: &SetupNote) -> String {
    let path = note.path.display();
    let text = &note.text;
    match note.kind {
        SetupNoteKind::Refused => format!("error: did not change {path}: {text}"),
        SetupNoteKind::Taken => format!("error: did not replace {path}: {text}"),
        SetupNoteKind::Edited | SetupNoteKind::Theirs => format!("kept {path}: {text}"),
        SetupNoteKind::Hint => format!("note: {path}: {text}"),
    }
}

/// Formats the changes; combines many files of one kind into one line.
fn summary(changes: &[SetupFileChange]) -> Vec<String> {
    let mut lines: Vec<(String, usize)> = Vec::new();
    for change in changes {
        let verb = match (&change.old, &change.new) {
            (None, _) => "created",
            (_, None) => "removed",
            _ => "changed",
        };
        let is_many = |folder: &&Path| {
            folder.file_name().is_some_and(|name| name == "agents" || name == "skills")
        };
        let key = match change.path.ancestors().skip(1).find(is_many) {
            Some(folder) => format!("{verb} {}/", folder.display()),
            None => format!("{verb} {}", change.path.display()),
        };
        match lines.iter_mut().find(|(known, _)| *known == key) {
            Some((_, count)) => *count += 1,
            None => lines.push((key, 1)),
        }
    }
    let line = |(key, count): (String, usize)| match key.ends_with('/') {
        true => format!("{key}: {count} {}", if count == 1 { "file" } else { "files" }),
        false => key,
    };
    lines.into_iter().map(line).collect()
}

fn report(plan: &SetupPlan, paths: &SetupPaths, hosts: &[HostKind], action: SetupAction) -> Value {
    let path = |path: &Path| Value::string(&path.to_string_lossy());
    let change = |change: &SetupFileChange| {
        let action = match (&change.old, &change.new) {
            (None, _) => "create",
            (_, None) => "remove",
            _ => "change",
        };
        Value::record([("path", path(&change.path)), ("action", Value::string(action))])
    };
    let note = |note: &SetupNote| {
        Value::record([
            ("kind", Value::string(note.kind.as_str())),
            ("path", path(&note.path)),
            ("text", Value::string(&note.text)),
        ])
    };
    let scope = match paths.scope {
        SetupScope::User => "user",
        SetupScope::Project(_) => "project",
    };
    Value::record([
        ("ok", Value::bool(!plan.has_failed())),
        ("scope", Value::string(scope)),
        ("hosts", Value::array(hosts.iter().map(|host| Value::string(host.as_str())).collect())),
        ("dry_run", Value::bool(action == SetupAction::Preview)),
        ("manifest", path(&plan.manifest)),
        ("changes", Value::array(plan.changes.iter().map(change).collect())),
        ("notes", Value::array(plan.notes.iter().map(note).collect())),
    ])
}
