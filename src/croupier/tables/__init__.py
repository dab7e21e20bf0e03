"""What a run is played at: anything with ask, tell and result, by the kind of table."""
