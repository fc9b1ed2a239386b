"""Where shapes touch and how far apart they are, by pairs of kinds."""
