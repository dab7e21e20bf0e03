"""Where batches are performed: in this process, in others, in threads, on Dask, Ray or MPI."""
