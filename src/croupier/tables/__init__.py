"""Tables: what a run is played at. A table is anything with ask, tell and result."""
