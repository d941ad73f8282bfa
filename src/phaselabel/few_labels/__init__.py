"""How a labelling problem is solved: the policy, the spread from few labels, class sizes, the drift watch."""
