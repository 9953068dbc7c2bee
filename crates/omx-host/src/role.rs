//! A role: front matter for omx, and a prompt for an agent.

use std::path::PathBuf;

use crate::front_matter::{AllowedKeys, CatalogError, FrontMatter};

/// How capable a model a role needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelTier {
    /// The cheapest.
    Low,
    /// The default.
    Medium,
    /// The best.
    High,
}

/// Whether a role may change files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolAccess {
    /// It reads and runs checks.
    ReadOnly,
    /// It edits.
    Write,
}

/// What a role returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RoleResult {
    /// A plan with subtasks.
    Plan,
    /// A verdict with findings.
    Review,
    /// A report of the work, with evidence.
    Work,
    /// Whether the work passes its checks.
    Verification,
    /// Free text.
    Text,
}

macro_rules! words {
    ($type:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl $type {
            /// The word in the front matter.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            fn parse(word: &str) -> Result<Self, String> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(format!("{word:?} is not one of {}", [$($word),+].join(", "))),
                }
            }
        }
    };
}

words!(ModelTier { Low = "low", Medium = "medium", High = "high" });
words!(ToolAccess { ReadOnly = "read-only", Write = "write" });
words!(RoleResult {
    Plan = "plan",
    Review = "review",
    Work = "work",
    Verification = "verification",
    Text = "text",
});

/// A role of the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// When to use it, in one line.
    pub description: String,
    /// How capable a model it needs.
    pub tier: ModelTier,
    /// Whether it may change files.
    pub tools: ToolAccess,
    /// What it returns.
    pub answer: RoleResult,
    /// The prompt for the agent.
    pub prompt: String,
    /// The project's file; `None` for a built-in role.
    pub file: Option<PathBuf>,
}

const KEYS: [&str; 5] = ["name", "description", "tier", "tools", "result"];

impl Role {
    /// Parses a role. `file` appears only in messages.
    pub fn parse(text: &str, file: &str) -> Result<Self, CatalogError> {
        let matter = FrontMatter::parse(text, "role", file, AllowedKeys::Only(&KEYS))?;
        let (tier, tier_line) = matter.get("tier")?;
        let (tools, tools_line) = matter.get("tools")?;
        let (answer, answer_line) = matter.get("result")?;
        Ok(Self {
            name: matter.get("name")?.0.to_owned(),
            description: matter.get("description")?.0.to_owned(),
            tier: ModelTier::parse(tier).map_err(|why| matter.fail(tier_line, why))?,
            tools: ToolAccess::parse(tools).map_err(|why| matter.fail(tools_line, why))?,
            answer: RoleResult::parse(answer).map_err(|why| matter.fail(answer_line, why))?,
            prompt: matter.body,
            file: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        "---\nname: x\ndescription: d: e\ntier: low\ntools: write\nresult: work\n---\n\nDo it.\n";

    #[test]
    fn a_role_is_read_whole() {
        let role = Role::parse(GOOD, "x.md").unwrap();
        assert_eq!((role.name.as_str(), role.description.as_str()), ("x", "d: e"));
        assert_eq!(
            (role.tier, role.tools, role.answer),
            (ModelTier::Low, ToolAccess::Write, RoleResult::Work)
        );
        assert_eq!(role.prompt, "Do it.");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (from, to, line, word) in [
            ("---\nname", "name", 1, "front matter"),
            ("tier: low", "tier: huge", 4, "huge"),
            ("tools: write", "tool: write", 5, "tool"),
            ("tools: write", "tools write", 5, "KEY"),
            ("tier: low", "name: y", 4, "twice"),
            ("result: work\n", "", 1, "result"),
            ("Do it.", "", 7, "prompt"),
            ("result: work\n---", "result: work", 7, "KEY"),
        ] {
            let error = Role::parse(&GOOD.replacen(from, to, 1), "x.md").unwrap_err();
            assert!(error.why.contains(word), "{error}");
            if line != 7 {
                assert_eq!(error.line, line, "{error}");
            }
        }
    }
}
