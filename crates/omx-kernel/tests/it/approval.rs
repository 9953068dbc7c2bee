//! What an agent may do unasked: the whole table (conductor.md, "What agents
//! may do").

use omx_kernel::approval::{Allow, Ask, Leave, OWN_SERVER, Reach, leave};

use Leave::{Granted, NeedsPerson};

fn edit(reach: Reach) -> Ask {
    Ask::Edit { paths: vec!["src/main.rs".to_owned()], reach }
}

fn command(reach: Reach) -> Ask {
    Ask::Command { command: "make".to_owned(), reach }
}

fn tool(server: &str) -> Ask {
    Ask::Tool { server: server.to_owned(), tool: "state_write".to_owned() }
}

#[test]
fn the_policy_is_this_table() {
    // what is asked for; edits, commands, all
    let table: [(Ask, [Leave; 3]); 9] = [
        (edit(Reach::Inside), [Granted, Granted, Granted]),
        (edit(Reach::Outside), [NeedsPerson, NeedsPerson, Granted]),
        (command(Reach::Inside), [NeedsPerson, Granted, Granted]),
        (command(Reach::Outside), [NeedsPerson, NeedsPerson, Granted]),
        (tool("omx"), [Granted, Granted, Granted]),
        (tool("other"), [NeedsPerson, NeedsPerson, Granted]),
        // Only the whole name is ours.
        (tool("omx2"), [NeedsPerson, NeedsPerson, Granted]),
        (tool(""), [NeedsPerson, NeedsPerson, Granted]),
        (Ask::Other { what: "to think".to_owned() }, [NeedsPerson, NeedsPerson, Granted]),
    ];
    for (ask, expected) in table {
        let answers = Allow::ALL.map(|allow| leave(allow, &ask));
        assert_eq!(answers, expected, "{ask:?}");
    }
    assert_eq!(OWN_SERVER, "omx");
}

/// What is allowed more can never be refused more.
#[test]
fn a_wider_leave_grants_all_that_a_narrower_one_does() {
    let asks = [
        edit(Reach::Inside),
        edit(Reach::Outside),
        command(Reach::Inside),
        command(Reach::Outside),
        tool("omx"),
        tool("other"),
    ];
    for ask in asks {
        let granted = Allow::ALL.map(|allow| leave(allow, &ask) == Granted);
        assert!(granted.is_sorted(), "{ask:?}: {granted:?}");
    }
}

#[test]
fn each_word_names_one_allowance_and_no_other_word_does() {
    for allow in Allow::ALL {
        assert_eq!(Allow::named(allow.as_str()), Some(allow));
    }
    assert_eq!(Allow::ALL.map(Allow::as_str), ["edits", "commands", "all"]);
    for word in ["", "Edits", "ALL", "edit", "everything", " all"] {
        assert_eq!(Allow::named(word), None, "{word:?}");
    }
}
