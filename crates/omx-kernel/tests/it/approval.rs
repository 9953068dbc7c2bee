//! The whole permission table (conductor.md, "What agents may do").

use omx_kernel::approval::{
    AllowLevel, ApprovalRequest, OWN_SERVER, Permission, TargetLocation, permission_for,
};

use Permission::{Granted, NeedsPerson};

fn edit(reach: TargetLocation) -> ApprovalRequest {
    ApprovalRequest::Edit { paths: vec!["src/main.rs".to_owned()], location: reach }
}

fn command(reach: TargetLocation) -> ApprovalRequest {
    ApprovalRequest::Command { command: "make".to_owned(), location: reach }
}

fn tool(server: &str) -> ApprovalRequest {
    ApprovalRequest::Tool { server: server.to_owned(), tool: "state_write".to_owned() }
}

#[test]
fn the_policy_is_this_table() {
    // request; decision under edits, commands, all
    let table: [(ApprovalRequest, [Permission; 3]); 9] = [
        (edit(TargetLocation::Inside), [Granted, Granted, Granted]),
        (edit(TargetLocation::Outside), [NeedsPerson, NeedsPerson, Granted]),
        (command(TargetLocation::Inside), [NeedsPerson, Granted, Granted]),
        (command(TargetLocation::Outside), [NeedsPerson, NeedsPerson, Granted]),
        (tool("omx"), [Granted, Granted, Granted]),
        (tool("other"), [NeedsPerson, NeedsPerson, Granted]),
        // Only the exact name is omx's server.
        (tool("omx2"), [NeedsPerson, NeedsPerson, Granted]),
        (tool(""), [NeedsPerson, NeedsPerson, Granted]),
        (
            ApprovalRequest::Other { what: "to think".to_owned() },
            [NeedsPerson, NeedsPerson, Granted],
        ),
    ];
    for (ask, expected) in table {
        let answers = AllowLevel::ALL.map(|allow| permission_for(allow, &ask));
        assert_eq!(answers, expected, "{ask:?}");
    }
    assert_eq!(OWN_SERVER, "omx");
}

/// A more permissive level grants everything that a stricter one grants.
#[test]
fn a_wider_leave_grants_all_that_a_narrower_one_does() {
    let asks = [
        edit(TargetLocation::Inside),
        edit(TargetLocation::Outside),
        command(TargetLocation::Inside),
        command(TargetLocation::Outside),
        tool("omx"),
        tool("other"),
    ];
    for ask in asks {
        let granted = AllowLevel::ALL.map(|allow| permission_for(allow, &ask) == Granted);
        assert!(granted.is_sorted(), "{ask:?}: {granted:?}");
    }
}

#[test]
fn each_word_names_one_allowance_and_no_other_word_does() {
    for allow in AllowLevel::ALL {
        assert_eq!(AllowLevel::parse(allow.as_str()), Some(allow));
    }
    assert_eq!(AllowLevel::ALL.map(AllowLevel::as_str), ["edits", "commands", "all"]);
    for word in ["", "Edits", "ALL", "edit", "everything", " all"] {
        assert_eq!(AllowLevel::parse(word), None, "{word:?}");
    }
}
