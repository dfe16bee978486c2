"""The `bertlab` command: one module for each subcommand."""
