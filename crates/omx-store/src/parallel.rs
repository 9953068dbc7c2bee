//! Splits long work over the processors.

use std::num::NonZero;
use std::thread::{self, Builder};

/// Fewer items are done before a thread has started.
const WORTHWHILE: usize = 1_024;
/// Looking at files scales no further.
const MAX_THREADS: usize = 8;

/// Maps the items, in order. Many of them are split over the processors.
pub fn map_in_parallel<T: Sync, R: Send>(
    items: &[T],
    map: impl Fn(&T) -> R + Sync,
) -> impl Iterator<Item = R> {
    let threads = match items.len() {
        0..WORTHWHILE => 1,
        _ => thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS),
    };
    let (first, rest) = items.split_at(items.len().div_ceil(threads));
    let work = |part: &[T]| part.iter().map(&map).collect::<Vec<R>>();
    let results = thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = rest
            .chunks(first.len().max(1))
            .map(|part| (part, Builder::new().spawn_scoped(scope, move || work(part))))
            .collect();
        let mut results = vec![work(first)];
        results.extend(others.into_iter().map(|(part, thread)| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // The person has no threads left; it takes longer then.
            Err(_) => work(part),
        }));
        results
    });
    results.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        for length in [0, 1, WORTHWHILE - 1, WORTHWHILE, 5 * WORTHWHILE + 3] {
            let items: Vec<usize> = (0..length).collect();
            let expected: Vec<usize> = items.iter().map(|item| item * 2).collect();
            let doubled: Vec<usize> = map_in_parallel(&items, |item| item * 2).collect();
            assert_eq!(doubled, expected);
        }
    }
}
