"""How fast it is: each module prints what it measures, beside a peer where there is one. Nothing is asserted."""
