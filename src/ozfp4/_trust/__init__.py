"""No kernel is used before it has multiplied exact integers on this machine."""
