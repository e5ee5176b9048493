"""Sinks: each takes alerts from the outbox in a thread of its own, at its own pace."""
