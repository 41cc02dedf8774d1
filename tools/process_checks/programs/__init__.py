"""Programs in several processes whose times are taken; each is started by itself."""
