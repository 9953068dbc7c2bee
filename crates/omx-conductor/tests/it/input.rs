//! The hash of a step's input is a format: journals hold it.

use omx_conductor::input::{input_hash, short_hash};
use omx_conductor::workflow::{
    AgentStep, CompletedSteps, NextAction, ReplayCache, StepKind, StepResult, replay,
};
use omx_kernel::Mode;
use serde_json::json;

use crate::kit;

#[test]
fn the_hash_covers_the_sorted_json_of_the_input() {
    let spec = kit::spec(Mode::Ralplan);
    let mut completed = CompletedSteps::default();
    for _ in 0..3 {
        let cache = &mut ReplayCache::default();
        let replay = replay(&spec, &kit::context(), &completed, cache).unwrap();
        let NextAction::Begin(steps) = replay.next else { panic!("{:?}", replay.next) };
        for step in steps {
            let StepKind::Agent(AgentStep { role, purpose, wants, .. }) = &step.kind else {
                panic!("{step:?}")
            };
            let read = |key| completed.get(key).map(|done| &done.result);
            let reads: Vec<_> = purpose.reads().into_iter().map(read).collect();
            let text = json!({
                "task": spec.task, "role": role, "purpose": purpose, "wants": wants.as_str(),
                "reads": reads,
            });
            let input = input_hash(&spec, &completed, &step);
            assert_eq!(input, short_hash(&text.to_string()));
            completed
                .add(step.key.clone(), StepResult { result: kit::good(&step), input, tree: None });
        }
    }
}
