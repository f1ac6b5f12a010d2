"""The command lines: a module per verb reads its options, calls the packages below and prints."""
