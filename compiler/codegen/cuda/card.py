"""The card that numbers of blocks and threads are made for. Others run the same, a little less evenly."""

WARP = 32  # threads that run together
THREADS = 256  # of a block, where nothing else decides
CORES = 132  # multiprocessors
