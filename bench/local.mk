include bench/bootstrap.mk
include bench/bind.mk
include bench/startup.mk
include bench/collectives.mk
EXTRA_DIST += bench/mpibind.sh bench/mpibind.py
