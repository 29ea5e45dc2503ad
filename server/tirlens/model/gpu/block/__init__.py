"""Block: the time of one block on its SM, from pipelines, barriers and warp roles."""
