# Thin over dev.py, which does the same where there is no make.
# Arguments go through ARGS: make test ARGS="tests/core -k seal"; make sim SEEDS=2000

PYTHON ?= python3

.PHONY: help setup demo test lint strangers sim bench docs promises

help:
	@$(PYTHON) dev.py help

setup demo test lint strangers sim bench docs promises:
	@$(PYTHON) dev.py $@ $(ARGS)
