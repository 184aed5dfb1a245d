# The Python package: its own tests, and torch on the lab.
TESTS += tests/cli/python_test.sh
EXTRA_DIST += tests/cli/python_test.sh tests/slurm/python_test.sh tests/slurm/torch_groups.py tests/slurm/torch_ddp.py \
	python/pyproject.toml python/README.md \
	python/dtrain/__init__.py python/dtrain/_library.py python/dtrain/torch.py \
	python/tests/test_torch.py python/tests/test_world.py
