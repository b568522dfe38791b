"""torch's half of a scope: its functions by name (`names`), or all its operators (`mode`)."""
