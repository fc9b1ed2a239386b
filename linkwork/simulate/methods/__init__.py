"""Methods of integration: one file each, and what their steps share."""
