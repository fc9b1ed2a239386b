"""Events: when something passes through zero within a step."""
