//! The event channel of a run, with two priorities.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::world::{ControlEvent, WorldEvent};

/// Events that the loop has not received yet.
#[derive(Debug, Default)]
struct Queues {
    control: VecDeque<ControlEvent>,
    events: VecDeque<WorldEvent>,
}

/// Receives events from threads. Control events overtake all others.
#[derive(Clone, Debug, Default)]
pub(super) struct Mailbox(Arc<(Mutex<Queues>, Condvar)>);

impl Mailbox {
    pub(super) fn send(&self, event: WorldEvent) {
        self.lock().events.push_back(event);
        self.0.1.notify_one();
    }

    pub(super) fn send_control(&self, event: ControlEvent) {
        let mut queues = self.lock();
        // The loop may be busy for a while; one copy of an event is enough.
        if !queues.control.contains(&event) {
            queues.control.push_back(event);
        }
        drop(queues);
        self.0.1.notify_one();
    }

    pub(super) fn control(&self) -> Option<ControlEvent> {
        self.lock().control.pop_front()
    }

    /// Waits for an event. Returns `None` on a control event or a timeout.
    pub(super) fn wait(&self, patience: Option<Duration>) -> Option<WorldEvent> {
        let deadline = patience.and_then(|patience| Instant::now().checked_add(patience));
        let mut queues = self.lock();
        loop {
            if !queues.control.is_empty() {
                return None;
            }
            if let Some(event) = queues.events.pop_front() {
                return Some(event);
            }
            queues = match deadline {
                None => self.0.1.wait(queues).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.checked_duration_since(Instant::now())?;
                    let waited = self.0.1.wait_timeout(queues, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use omx_agents::AgentEvent;
    use omx_runs::StepKey;

    use super::*;

    #[test]
    fn control_events_overtake_an_agent_that_reports_without_pause() {
        let mailbox = Mailbox::default();
        let text = || {
            let step = StepKey::new("work".to_owned());
            WorldEvent::Agent(step, AgentEvent::Text("and another thing".to_owned()))
        };
        for _ in 0..10_000 {
            mailbox.send(text());
        }
        assert_eq!(mailbox.wait(None), Some(text()));
        mailbox.send_control(ControlEvent::Stop);
        assert_eq!(mailbox.wait(None), None);
        assert_eq!(mailbox.control(), Some(ControlEvent::Stop));
        assert_eq!(mailbox.wait(None), Some(text()));
    }

    #[test]
    fn waiting_ends_when_time_is_up_or_control_arrives() {
        let mailbox = Mailbox::default();
        assert_eq!(mailbox.wait(Some(Duration::ZERO)), None);
        let other = mailbox.clone();
        let sender = std::thread::spawn(move || other.send_control(ControlEvent::Stop));
        assert_eq!(mailbox.wait(None), None);
        assert_eq!(mailbox.control(), Some(ControlEvent::Stop));
        assert!(sender.join().is_ok());
    }
}
