"""AFlow: a search over workflows that are data; nothing a model writes is run in the kernel."""
