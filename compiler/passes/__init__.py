"""The passes, each from Function to Function, and the pipeline that orders them."""
