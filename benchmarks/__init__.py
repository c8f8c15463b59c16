"""Speed and evidence: what the project measures about itself."""
