"""State: variables, their scopes and stores, and the operations that change them."""
