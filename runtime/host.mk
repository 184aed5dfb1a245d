# The host backend and the operations on communicators.
noinst_LTLIBRARIES += libdthost.la
libdthost_la_SOURCES = \
	runtime/backend.h runtime/peers.h \
	runtime/backend_host.c \
	runtime/comm.c runtime/comm.h \
	runtime/comm_call.c runtime/comm_call.h \
	runtime/comm_revoke.c \
	runtime/comm_transfer.c \
	runtime/deadline.c runtime/deadline.h \
	runtime/host_call.c runtime/host_call.h \
	runtime/host_coll.c runtime/host_coll.h \
	runtime/host_comm.c runtime/host_comm.h \
	runtime/host_connect.c runtime/host_connect.h \
	runtime/host_exchange.c runtime/host_exchange.h \
	runtime/host_half.h \
	runtime/host_link.c runtime/host_link.h \
	runtime/host_peer.c runtime/host_peer.h \
	runtime/host_reduce.c runtime/host_reduce.h \
	runtime/host_reduction.c \
	runtime/host_shm.c runtime/host_shm.h \
	runtime/host_stream.c runtime/host_stream.h \
	runtime/host_tcp.c runtime/host_tcp.h \
	runtime/thread.c runtime/thread.h \
	runtime/host_wait.c runtime/host_wait.h \
	runtime/math.c runtime/math.h \
	runtime/math_elements.c runtime/math_elements.h runtime/math_value.h \
	runtime/math_rows.c runtime/math_rows.h \
	runtime/math_vocabulary.c runtime/math_vocabulary.h \
	runtime/host_wire.c runtime/host_wire.h \
	runtime/operation.c runtime/operation.h \
	runtime/type.c runtime/type.h
libdthost_la_LIBADD = -lm
