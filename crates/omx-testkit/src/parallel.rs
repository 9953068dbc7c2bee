//! Many small runs of the program, a few at a time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Does something with every item on that many threads. The first item that
/// fails fails the caller, with its message.
pub fn in_parallel<T: Sync>(threads: usize, items: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let failure: Mutex<Option<Box<dyn std::any::Any + Send>>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let done =
                        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(item)));
                    if let Err(panic) = done {
                        failure.lock().unwrap().get_or_insert(panic);
                        next.store(items.len(), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    if let Some(panic) = failure.into_inner().unwrap() {
        std::panic::resume_unwind(panic);
    }
}
