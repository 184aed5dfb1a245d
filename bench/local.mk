include bench/startup.mk
include bench/collectives.mk
