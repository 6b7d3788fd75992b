"""What Agent Q-Mix does, in numbers and figures: who talks when, to whom, and what it is worth."""
