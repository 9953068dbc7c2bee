//! Requests are read from JSON at the doors, with the fields they have and no others.

use omx_kernel::{Mode, RefusalCode};
use omx_ops::{
    CancelBreadth, CancelRequest, CheckGoal, ClearSessions, RunDiscardRequest, RunRequest,
    StateClearRequest, StateWriteRequest, parse_fields, state_read, state_write,
};
use omx_runs::retention::DiscardScope;

use crate::project::OpsTestProject;

#[test]
fn a_written_value_keeps_its_bytes() {
    let project = OpsTestProject::new();
    let context = project.context();
    let text = r#"{"mode":"ralph","active":true,"x_price":1.10,"x_big":18446744073709551617}"#;
    let request = StateWriteRequest::try_from(parse_fields(text).unwrap()).unwrap();
    assert_eq!(request.mode, Mode::Ralph);
    state_write(&context, request).unwrap();
    let read = parse_fields(r#"{"mode":"ralph"}"#).unwrap();
    let document = state_read(&context, &read.try_into().unwrap()).unwrap();
    assert!(document.as_json().contains("1.10"), "{}", document.as_json());
    assert!(document.as_json().contains("18446744073709551617"), "{}", document.as_json());
}

#[test]
fn fields_that_a_request_does_not_have_are_refused() {
    let fields = parse_fields(r#"{"mode":"ralph","sesion_id":"s"}"#).unwrap();
    let refusal = StateClearRequest::try_from(fields).unwrap_err();
    assert_eq!(refusal.code, RefusalCode::InvalidInput);
    assert!(refusal.message.contains("sesion_id"), "{}", refusal.message);
}

#[test]
fn a_clear_names_its_sessions() {
    let sessions =
        |text| StateClearRequest::try_from(parse_fields(text).unwrap()).map(|it| it.sessions);
    assert_eq!(sessions(r#"{"mode":"ralph"}"#).unwrap(), ClearSessions::Own);
    assert_eq!(sessions(r#"{"mode":"ralph","all_sessions":true}"#).unwrap(), ClearSessions::All);
    sessions(r#"{"mode":"ralph","all_sessions":true,"session_id":"s"}"#).unwrap_err();
}

#[test]
fn a_cancel_is_narrow_or_wide_but_not_both() {
    let breadth = |text| CancelRequest::try_from(parse_fields(text).unwrap()).map(|it| it.breadth);
    assert_eq!(breadth(r#"{"force":true}"#).unwrap(), CancelBreadth::Force);
    assert_eq!(breadth(r#"{"all":true}"#).unwrap(), CancelBreadth::Force);
    assert_eq!(breadth(r#"{"every_session":true}"#).unwrap(), CancelBreadth::EverySession);
    breadth(r#"{"force":true,"mode":"ralph"}"#).unwrap_err();
    breadth(r#"{"force":true,"every_session":true}"#).unwrap_err();
}

#[test]
fn a_run_is_requested_in_the_words_of_the_command_line() {
    let text = r#"{"mode":"ultraqa","command":"make lint","budget_usd":2.5,"budget_time":"90m"}"#;
    let request = RunRequest::try_from(parse_fields(text).unwrap()).unwrap();
    assert_eq!(request.goal, CheckGoal::Command("make lint".to_owned()));
    assert_eq!(request.task.as_deref(), Some("Make `make lint` succeed."));
    assert_eq!(request.budget.micro_usd, Some(2_500_000));
    assert_eq!(request.budget.seconds, Some(5_400));
    RunRequest::try_from(parse_fields(r#"{"mode":"ralph","dirty":true}"#).unwrap()).unwrap_err();
    RunRequest::try_from(parse_fields(r#"{"mode":"ralph","agent":"x"}"#).unwrap()).unwrap_err();
}

#[test]
fn a_discard_must_name_its_run() {
    let request = |text| RunDiscardRequest::try_from(parse_fields(text).unwrap());
    assert_eq!(request(r#"{"id":"01","force":true}"#).unwrap().scope, DiscardScope::Everything);
    request("{}").unwrap_err();
    request(r#"{"id":""}"#).unwrap_err();
}
