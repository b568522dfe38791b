"""Experiments: what to measure, how, and where finished rows are kept; the commands and figures are made from it.

`methods` says what can multiply on this machine, `rows` keeps finished rows in a file, `timing` and `gpu` hold the
clocks, `accuracy`, `grades`, `speed` and `model` are the experiments.
"""
