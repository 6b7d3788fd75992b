"""Every method behind one protocol: fit on graded tasks, answer a task, be costed alike."""
