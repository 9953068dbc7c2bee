//! Child processes: the guard, pipes, deadlines, process identity, signals.
