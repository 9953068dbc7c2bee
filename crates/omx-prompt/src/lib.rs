//! What a prompt means: calls, cancels, mentions, suggestions. Pure.
