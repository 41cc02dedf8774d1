"""The stand-in: runs programs that say `import tensorflow as tf`, unmodified, on staticgraph."""
