"""Where batches are performed: in this process, other processes, threads, Dask, Ray or MPI."""
