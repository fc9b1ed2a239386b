"""Elementary functions: sine, exponential and others, as text of LLVM."""
