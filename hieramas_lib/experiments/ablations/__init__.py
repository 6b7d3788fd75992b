"""Which part of HieraMAS carries the gain: the system with one part changed at a time."""
