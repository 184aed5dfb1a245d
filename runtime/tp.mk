# Tensor, context and expert parallel.
include_HEADERS += include/dtrain_cp.h include/dtrain_ep.h include/dtrain_tp.h
libdthost_la_SOURCES += \
	runtime/cp.c runtime/cp.h \
	runtime/cp_heads.c runtime/cp_layout.c runtime/cp_ring.c \
	runtime/ep.c runtime/ep.h runtime/ep_move.c runtime/ep_plan.c \
	runtime/lane.c runtime/lane.h \
	runtime/tp.h \
	runtime/tp_linear.c runtime/tp_region.c runtime/tp_rows.c runtime/tp_shard.c runtime/tp_vocabulary.c
