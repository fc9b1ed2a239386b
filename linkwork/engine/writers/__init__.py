"""Programs written out: LLVM, assembly, C, SymPy, CasADi."""
