"""The Orders page: which Rényi order decides, and what is known of R(α)."""
