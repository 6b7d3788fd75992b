# All the work is in run.py, which also runs where there is no make.
# LOCAL=0 declines the local model; POOL=file.yaml names the LLMs of run-local; ARGS goes to the job;
# PYTHON chooses the interpreter.
PYTHON ?= python3
ARGS ?=
.PHONY: help setup run run-local lab test test-all
help setup run run-local lab test test-all:
	@$(PYTHON) run.py $@ $(ARGS)
