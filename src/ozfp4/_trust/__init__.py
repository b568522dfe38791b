"""No kernel serves before it has multiplied exact integers on this machine."""
