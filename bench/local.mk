include bench/bootstrap.mk
include bench/bind.mk
include bench/startup.mk
include bench/bubble.mk
include bench/collectives.mk
include bench/overlap.mk
include bench/train.mk
EXTRA_DIST += bench/mpibind.sh bench/mpibind.py bench/suggest.sh bench/suggest.py
