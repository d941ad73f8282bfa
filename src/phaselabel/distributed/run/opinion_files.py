"""The names of the files that hold what experts believe: tables of rows times classes, one file per block."""

#: q, the evidence of the flow.
PROBABILITIES = "opinion/probabilities-{:05d}.npy"

#: The same, tempered: the probability of being right.
CONFIDENCE = "opinion/confidence-{:05d}.npy"

#: The part of the graph's experts in the pool.
GRAPH_LOGITS = "opinion/graph_logits-{:05d}.npy"

#: Probabilities that a user gives.
GIVEN = "opinion/given-{:05d}.npy"

#: Whether a row looks like none of the labelled ones.
NOVEL = "novel/{:05d}.npy"

#: What a spread from few labels says, and the flow of the graph alone, as log-probabilities.
SPREAD, FLOW = "spread/{:05d}.npy", "flow_votes/{:05d}.npy"
