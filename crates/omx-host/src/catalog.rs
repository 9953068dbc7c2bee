//! The catalog of roles and skills: the built-in ones, and a project's own, which
//! replace built-in ones of the same name.

use std::path::{Path, PathBuf};

use omx_kernel::Dialect;

use crate::front_matter::CatalogError;
use crate::role::Role;
use crate::skill::Skill;

/// The file of a role, embedded in the program.
struct Builtin {
    name: &'static str,
    text: &'static str,
}

macro_rules! builtin {
    ($name:literal) => {
        Builtin { name: $name, text: include_str!(concat!("../../../assets/roles/", $name, ".md")) }
    };
}

const ROLES: [Builtin; 30] = [
    builtin!("analyst"),
    builtin!("api-reviewer"),
    builtin!("architect"),
    builtin!("build-fixer"),
    builtin!("code-reviewer"),
    builtin!("critic"),
    builtin!("debugger"),
    builtin!("deep-executor"),
    builtin!("dependency-expert"),
    builtin!("designer"),
    builtin!("executor"),
    builtin!("explore"),
    builtin!("git-master"),
    builtin!("information-architect"),
    builtin!("performance-reviewer"),
    builtin!("planner"),
    builtin!("product-analyst"),
    builtin!("product-manager"),
    builtin!("qa-tester"),
    builtin!("quality-reviewer"),
    builtin!("quality-strategist"),
    builtin!("researcher"),
    builtin!("scientist"),
    builtin!("security-reviewer"),
    builtin!("style-reviewer"),
    builtin!("test-engineer"),
    builtin!("ux-researcher"),
    builtin!("verifier"),
    builtin!("vision"),
    builtin!("writer"),
];

macro_rules! skill {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../assets/skills/", $name, "/SKILL.md")))
    };
}

const SKILLS: &[(&str, &str)] = &[
    skill!("autopilot"),
    skill!("cancel"),
    skill!("code-review"),
    skill!("doctor"),
    skill!("ecomode"),
    skill!("help"),
    skill!("pipeline"),
    skill!("plan"),
    skill!("ralph"),
    skill!("ralplan"),
    skill!("setup"),
    skill!("swarm"),
    skill!("team"),
    skill!("ultrapilot"),
    skill!("ultraqa"),
    skill!("ultrawork"),
];

/// The built-in skills: name and text of each `SKILL.md`.
pub const fn builtin_skills() -> &'static [(&'static str, &'static str)] {
    SKILLS
}

/// Loads all skills, sorted by name. `tree` is omx's folder in the project:
/// `skills/NAME/SKILL.md` in it adds a skill or replaces a built-in one.
pub fn load_skills(tree: &Path, dialect: Dialect) -> Result<Vec<Skill>, CatalogError> {
    let mut skills = SKILLS
        .iter()
        .map(|(name, text)| {
            Skill::parse(&dialect.localize(text), &format!("{name}/SKILL.md (built in)"))
        })
        .collect::<Result<Vec<_>, _>>()?;
    for own in own_skills(tree)? {
        match skills.iter_mut().find(|skill| skill.name == own.name) {
            Some(skill) => *skill = own,
            None => skills.push(own),
        }
    }
    skills.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(skills)
}

fn own_skills(tree: &Path) -> Result<Vec<Skill>, CatalogError> {
    let mut folders = entries(&tree.join("skills"));
    folders.retain(|folder| folder.symlink_metadata().is_ok_and(|data| data.is_dir()));
    folders.iter().map(|folder| own_skill(folder)).collect()
}

fn own_skill(folder: &Path) -> Result<Skill, CatalogError> {
    let path = folder.join("SKILL.md");
    let (text, file) = read(&path)?;
    let skill = Skill::parse(&text, &file)?;
    if folder.file_name().is_none_or(|name| name != skill.name.as_str()) {
        let why = format!("the skill {:?} belongs in the folder {}", skill.name, skill.name);
        return Err(CatalogError { file, line: 1, why });
    }
    Ok(Skill { file: Some(path), ..skill })
}

/// Loads all roles, sorted by name. `tree` is omx's folder in the project:
/// `roles/NAME.md` in it adds a role or replaces a built-in one.
pub fn load_roles(tree: &Path, dialect: Dialect) -> Result<Vec<Role>, CatalogError> {
    let mut roles = ROLES
        .iter()
        .map(|role| {
            let text = dialect.localize(role.text);
            Role::parse(&text, &format!("{}.md (built in)", role.name))
        })
        .collect::<Result<Vec<_>, _>>()?;
    for own in own_roles(tree)? {
        match roles.iter_mut().find(|role| role.name == own.name) {
            Some(role) => *role = own,
            None => roles.push(own),
        }
    }
    roles.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(roles)
}

fn own_roles(tree: &Path) -> Result<Vec<Role>, CatalogError> {
    let mut paths = entries(&tree.join("roles"));
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    paths.iter().map(|path| own_role(path)).collect()
}

fn own_role(path: &Path) -> Result<Role, CatalogError> {
    let (text, file) = read(path)?;
    let role = Role::parse(&text, &file)?;
    if path.file_stem().is_none_or(|stem| stem != role.name.as_str()) {
        let why = format!("the role {:?} belongs in {}.md", role.name, role.name);
        return Err(CatalogError { file, line: 1, why });
    }
    Ok(Role { file: Some(path.to_owned()), ..role })
}

/// The entries of a folder in order; none if it does not exist.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Reads a plain file: its text, and its name in messages.
fn read(path: &Path) -> Result<(String, String), CatalogError> {
    let file = path.display().to_string();
    let fail = |why: String| CatalogError { file: file.clone(), line: 1, why };
    match path.symlink_metadata() {
        Ok(data) if data.is_file() => {}
        Ok(_) => return Err(fail("not a plain file".to_owned())),
        Err(error) => return Err(fail(error.to_string())),
    }
    let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
    Ok((text, file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::role::{RoleResult, ToolAccess};

    #[test]
    fn hosts_5_1_thirty_roles_each_with_its_four_parts() {
        let roles = load_roles(Path::new("/nonexistent"), Dialect::OMX).unwrap();
        assert_eq!(roles.len(), 30);
        for (role, builtin) in roles.iter().zip(&ROLES) {
            assert_eq!(role.name, builtin.name);
            assert!(role.description.len() < 120, "{}", role.name);
            for heading in ["When to use", "How you work", "What you return", "What you never do"] {
                assert!(
                    role.prompt.contains(&format!("\n## {heading}\n")),
                    "{}: {heading}",
                    role.name
                );
            }
            if role.answer == RoleResult::Work {
                assert_eq!(role.tools, ToolAccess::Write, "{}", role.name);
            }
        }
    }

    /// The fields a result must have, by the published schemas.
    #[test]
    fn conductor_4_2_every_role_names_the_fields_of_its_result() {
        for role in load_roles(Path::new("/nonexistent"), Dialect::OMX).unwrap() {
            let fields: &[&str] = match role.answer {
                RoleResult::Plan => {
                    &["title", "summary", "plan_markdown", "test_spec_markdown", "subtasks"]
                }
                RoleResult::Review => &["lane", "verdict", "findings", "severity", "summary"],
                RoleResult::Work => {
                    &["summary", "changed_files", "commands", "done", "blocked_reason"]
                }
                RoleResult::Verification => &["passed", "checks", "evidence", "findings"],
                RoleResult::Text => &[],
            };
            for field in fields {
                assert!(role.prompt.contains(&format!("`{field}`")), "{}: {field}", role.name);
            }
        }
    }

    #[test]
    fn hosts_5_3_a_project_s_own_role_wins_by_name() {
        let tree = tempfile::tempdir().unwrap();
        let folder = tree.path().join("roles");
        std::fs::create_dir(&folder).unwrap();
        let text = |name: &str| {
            format!(
                "---\nname: {name}\ndescription: ours\ntier: low\ntools: write\nresult: text\n---\nx\n"
            )
        };
        std::fs::write(folder.join("critic.md"), text("critic")).unwrap();
        std::fs::write(folder.join("tester.md"), text("tester")).unwrap();
        let found = load_roles(tree.path(), Dialect::OMX).unwrap();
        assert_eq!(found.len(), 31);
        let ours: Vec<&str> = found
            .iter()
            .filter(|role| role.file.is_some())
            .map(|role| role.name.as_str())
            .collect();
        assert_eq!(ours, ["critic", "tester"]);
        std::fs::write(folder.join("other.md"), text("tester")).unwrap();
        assert!(load_roles(tree.path(), Dialect::OMX).unwrap_err().why.contains("tester.md"));
    }

    #[test]
    fn hosts_5_2_every_built_in_skill_can_be_read_and_is_short() {
        let skills = load_skills(Path::new("/nonexistent"), Dialect::OMX).unwrap();
        assert_eq!(skills.len(), SKILLS.len());
        for (skill, (name, text)) in skills.iter().zip(builtin_skills()) {
            assert_eq!(skill.name, *name);
            assert_eq!(skill.text, *text);
            assert!(skill.description.len() < 250, "{name}");
            // A YAML reader would not take these as plain text.
            assert!(!skill.description.contains(": ") && !skill.description.contains(" #"));
            assert!(!skill.description.contains(['<', '"', '`', '$', '{']), "{name}");
            assert!((20..=60).contains(&text.lines().count()), "{name}: {}", text.lines().count());
        }
    }

    #[test]
    fn hosts_5_3_a_project_s_own_skill_wins_by_name() {
        let tree = tempfile::tempdir().unwrap();
        let write = |folder: &str, name: &str| {
            let folder = tree.path().join("skills").join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            let text = format!("---\nname: {name}\ndescription: ours\n---\nx\n");
            std::fs::write(folder.join("SKILL.md"), text).unwrap();
        };
        write("ralph", "ralph");
        write("ship", "ship");
        std::fs::write(tree.path().join("skills/notes.txt"), "not a skill").unwrap();
        let found = load_skills(tree.path(), Dialect::OMX).unwrap();
        assert_eq!(found.len(), SKILLS.len() + 1);
        let ours: Vec<&str> = found
            .iter()
            .filter(|skill| skill.file.is_some() && skill.description == "ours")
            .map(|skill| skill.name.as_str())
            .collect();
        assert_eq!(ours, ["ralph", "ship"]);
        write("other", "ship");
        assert!(load_skills(tree.path(), Dialect::OMX).unwrap_err().why.contains("folder ship"));
    }

    #[test]
    fn hosts_5_3_a_skill_without_its_file_or_behind_a_link_is_named() {
        let tree = tempfile::tempdir().unwrap();
        let folder = tree.path().join("skills/ship");
        std::fs::create_dir_all(&folder).unwrap();
        assert!(
            load_skills(tree.path(), Dialect::OMX).unwrap_err().file.ends_with("ship/SKILL.md")
        );
        std::os::unix::fs::symlink("/etc/hostname", folder.join("SKILL.md")).unwrap();
        assert!(load_skills(tree.path(), Dialect::OMX).unwrap_err().why.contains("plain file"));
    }
}
