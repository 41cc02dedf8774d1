"""Machine code in a saved graph: of a processor or of a GPU. It is used only if the file is trusted."""
