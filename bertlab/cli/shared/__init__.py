"""What the subcommands are made of: options, messages, texts, labelled examples, the runs of a fine-tuning."""
