"""The guarantee card: all that a paper, a registry or an auditor must be told of a plan, a run or a deployment."""
