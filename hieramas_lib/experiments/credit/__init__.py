"""Whether a role's credit points the way its contribution does (design 8, first claim)."""
