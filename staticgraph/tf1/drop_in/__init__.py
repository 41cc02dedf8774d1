"""Drop-in `tensorflow` module: programs that say `import tensorflow as tf` run unmodified on staticgraph."""
