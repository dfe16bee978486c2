"""The `bertlab` command: one module for each subcommand, in folders in the order of a project."""
