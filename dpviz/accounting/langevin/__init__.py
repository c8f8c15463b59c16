"""Private Langevin dynamics and posterior samples: published step sizes, their real cost, how well they estimate."""
