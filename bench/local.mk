include bench/startup.mk
