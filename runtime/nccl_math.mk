# The kernels of the NCCL module.
if DT_HAVE_NCCL
libdtrain_nccl_la_SOURCES += runtime/nccl_math.h runtime/nccl_math_device.h runtime/nccl_math_launch.h \
	runtime/nccl_math.cu runtime/nccl_math_elements.cu runtime/nccl_math_loss.cu runtime/nccl_math_rows.cu
-include runtime/nccl_math.cu.d
-include runtime/nccl_math_elements.cu.d
-include runtime/nccl_math_loss.cu.d
-include runtime/nccl_math_rows.cu.d
CLEANFILES += runtime/*.cu.d
endif
