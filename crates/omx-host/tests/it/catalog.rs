//! Roles and skills, built in and a project's own.

use omx_host::catalog::{builtin_skills, load_roles, load_skills};
use omx_kernel::Dialect;

use crate::place::HostTestProject;

#[test]
fn hosts_5_3_a_projects_own_files_replace_and_add() {
    let place = HostTestProject::new();
    let tree = place.project().join(".omx");
    let role = |name: &str| {
        format!(
            "---\nname: {name}\ndescription: ours\ntier: low\ntools: write\nresult: text\n---\nx\n"
        )
    };
    std::fs::create_dir_all(tree.join("roles")).unwrap();
    std::fs::create_dir_all(tree.join("skills/ship")).unwrap();
    let (roles, skills) =
        (load_roles(&tree, Dialect::OMX).unwrap(), load_skills(&tree, Dialect::OMX));
    assert!(skills.unwrap_err().to_string().contains("ship/SKILL.md"));
    std::fs::write(tree.join("roles/critic.md"), role("critic")).unwrap();
    std::fs::write(tree.join("roles/tester.md"), role("tester")).unwrap();
    let text = "---\nname: ship\ndescription: ours\n---\nx\n";
    std::fs::write(tree.join("skills/ship/SKILL.md"), text).unwrap();
    let (more_roles, skills) =
        (load_roles(&tree, Dialect::OMX).unwrap(), load_skills(&tree, Dialect::OMX).unwrap());
    assert_eq!(more_roles.len(), roles.len() + 1);
    assert_eq!(skills.len(), builtin_skills().len() + 1);
    let critic = more_roles.iter().find(|role| role.name == "critic").unwrap();
    assert_eq!((critic.description.as_str(), critic.file.is_some()), ("ours", true));
}
