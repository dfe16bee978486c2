"""What BERT is compared with: its relatives, small and correct."""
