include bench/bind.mk
include bench/startup.mk
include bench/collectives.mk
