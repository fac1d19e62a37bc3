"""The lease of a journal: which of several servers leads the cluster now."""
