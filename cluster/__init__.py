"""The cluster job: Ray around the two libraries. It carries rows between acts and decides nothing about right or wrong."""
