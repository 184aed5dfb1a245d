# The binder, and the one place that binds.
libdttopo_la_SOURCES += \
	topo/apply.c topo/apply.h \
	topo/bind.c topo/bind.h \
	topo/bind_cpu.c \
	topo/bind_exact.c topo/bind_exact.h \
	topo/bind_gpu.c \
	topo/bind_links.c topo/bind_links.h \
	topo/bind_nic.c \
	topo/bind_part.h \
	topo/bind_ring.c topo/bind_ring.h \
	topo/bind_swap.c topo/bind_swap.h \
	topo/bind_units.c topo/bind_units.h
