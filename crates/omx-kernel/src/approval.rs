//! What an agent may do without asking: one policy for every agent program.

use crate::confinement::WorkspaceAccess;

/// What the person allows agents to do without asking (`--allow`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AllowLevel {
    /// Edit files in the workspace.
    Edits,
    /// Also run commands in the workspace.
    Commands,
    /// Everything; the agent's own checks are off.
    All,
}

impl AllowLevel {
    /// Every level, the most restrictive first.
    pub const ALL: [Self; 3] = [Self::Edits, Self::Commands, Self::All];

    /// The name on the command line and in configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Edits => "edits",
            Self::Commands => "commands",
            Self::All => "all",
        }
    }

    /// Finds a level by its name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|allow| allow.as_str() == word)
    }
}

/// Whether the target of a request lies in the agent's workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TargetLocation {
    /// In the workspace.
    Inside,
    /// Outside the workspace, or unknown.
    Outside,
}

/// A request of an agent for permission.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ApprovalRequest {
    /// To edit files.
    Edit {
        /// The files, as the agent named them.
        paths: Vec<String>,
        /// `Inside` only if all of them are.
        location: TargetLocation,
    },
    /// To run a command.
    Command {
        /// The command line.
        command: String,
        /// Where it would run. A command outside the agent's sandbox counts as outside.
        location: TargetLocation,
    },
    /// To use a tool of an MCP server.
    Tool {
        /// The server's name.
        server: String,
        /// The tool's name.
        tool: String,
    },
    /// Anything else.
    Other {
        /// A description for the person.
        what: String,
    },
}

/// The policy's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Permission {
    /// The agent may proceed.
    Granted,
    /// Only the person can decide.
    NeedsPerson,
    /// The agent's part does not include it, whatever the person allows.
    Refused,
}

/// The name of omx's own MCP server, whose tools need no permission.
pub const OWN_SERVER: &str = "omx";

/// What an agent that only reads is told when it wants to change something.
pub const READS_ONLY: &str = "your part is to read and to run commands; you can change nothing";

/// Decides a request of an agent with this access to its workspace. One that only reads
/// is not asked about on the person's time: its edits are refused, and so is a command
/// that wants to leave the sandbox.
pub fn permission_with_access(
    allow: AllowLevel,
    access: WorkspaceAccess,
    ask: &ApprovalRequest,
) -> Permission {
    let leaves = matches!(
        ask,
        ApprovalRequest::Edit { .. }
            | ApprovalRequest::Command { location: TargetLocation::Outside, .. }
    );
    match access {
        WorkspaceAccess::ReadOnly if leaves => Permission::Refused,
        WorkspaceAccess::ReadOnly | WorkspaceAccess::ReadWrite => permission_for(allow, ask),
    }
}

/// Decides a request for permission.
pub fn permission_for(allow: AllowLevel, ask: &ApprovalRequest) -> Permission {
    let granted = match (allow, ask) {
        (AllowLevel::All, _) => true,
        (_, ApprovalRequest::Tool { server, .. }) => server == OWN_SERVER,
        (_, ApprovalRequest::Edit { location: reach, .. }) => *reach == TargetLocation::Inside,
        (AllowLevel::Commands, ApprovalRequest::Command { location: reach, .. }) => {
            *reach == TargetLocation::Inside
        }
        (AllowLevel::Edits, ApprovalRequest::Command { .. })
        | (_, ApprovalRequest::Other { .. }) => false,
    };
    if granted { Permission::Granted } else { Permission::NeedsPerson }
}
