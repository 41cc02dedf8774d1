"""State: variables, their scopes and stores, their moving averages, and the operations that change them."""
