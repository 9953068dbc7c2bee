//! The roles there are: those built in, and a project's own, which win by name.

use std::path::Path;

use crate::role::{Role, RoleError};

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

/// All roles by name. `tree` is omx's folder of the project; `roles/NAME.md` in
/// it adds a role or takes the place of a built-in one.
pub fn roles(tree: &Path) -> Result<Vec<Role>, RoleError> {
    let mut roles = ROLES
        .iter()
        .map(|role| Role::parse(role.text, &format!("{}.md (built in)", role.name)))
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

fn own_roles(tree: &Path) -> Result<Vec<Role>, RoleError> {
    let Ok(entries) = std::fs::read_dir(tree.join("roles")) else { return Ok(Vec::new()) };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    paths.sort();
    paths.iter().map(|path| own_role(path)).collect()
}

fn own_role(path: &Path) -> Result<Role, RoleError> {
    let file = path.display().to_string();
    let fail = |why: String| RoleError { file: file.clone(), line: 1, why };
    let is_file = path.symlink_metadata().is_ok_and(|data| data.is_file());
    if !is_file {
        return Err(fail("it is not a plain file".to_owned()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
    let role = Role::parse(&text, &file)?;
    if path.file_stem().is_none_or(|stem| stem != role.name.as_str()) {
        return Err(fail(format!("the role {:?} belongs into {}.md", role.name, role.name)));
    }
    Ok(Role { file: Some(path.to_owned()), ..role })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::role::{Answer, Tools};

    #[test]
    fn hosts_5_1_thirty_roles_each_with_its_four_parts() {
        let roles = roles(Path::new("/nonexistent")).unwrap();
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
            if role.answer == Answer::Work {
                assert_eq!(role.tools, Tools::Write, "{}", role.name);
            }
        }
    }

    /// The fields a result must have, by the published schemas.
    #[test]
    fn conductor_4_2_every_role_names_the_fields_of_its_result() {
        for role in roles(Path::new("/nonexistent")).unwrap() {
            let fields: &[&str] = match role.answer {
                Answer::Plan => {
                    &["title", "summary", "plan_markdown", "test_spec_markdown", "subtasks"]
                }
                Answer::Review => &["lane", "verdict", "findings", "severity", "summary"],
                Answer::Work => &["summary", "changed_files", "commands", "done", "blocked_reason"],
                Answer::Verification => &["passed", "checks", "evidence", "findings"],
                Answer::Text => &[],
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
        let found = roles(tree.path()).unwrap();
        assert_eq!(found.len(), 31);
        let ours: Vec<&str> = found
            .iter()
            .filter(|role| role.file.is_some())
            .map(|role| role.name.as_str())
            .collect();
        assert_eq!(ours, ["critic", "tester"]);
        std::fs::write(folder.join("other.md"), text("tester")).unwrap();
        assert!(roles(tree.path()).unwrap_err().why.contains("tester.md"));
    }
}
