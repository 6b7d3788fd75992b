"""How a team is chosen for a task: text features, the policy of stage 1, the graphs of stage 2."""
