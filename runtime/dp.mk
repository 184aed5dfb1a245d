# Data parallel training and ZeRO.
include_HEADERS += include/dtrain_dp.h
libdtworld_la_SOURCES += \
	runtime/dp.c runtime/dp.h \
	runtime/dp_agree.c \
	runtime/dp_buffer.c \
	runtime/dp_check.c \
	runtime/dp_exchange.c runtime/dp_exchange.h \
	runtime/dp_hash.h \
	runtime/dp_norm.c \
	runtime/dp_order.c \
	runtime/dp_pass.c \
	runtime/dp_plan.c runtime/dp_plan.h \
	runtime/dp_reduce.c \
	runtime/dp_replica.c \
	runtime/dp_storage.c \
	runtime/zero.c runtime/zero.h \
	runtime/zero_gather.c \
	runtime/zero_state.c
libdtworld_la_LIBADD += -lm
