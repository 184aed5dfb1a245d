# DT_SUMMARY: what is built and what not, and why.
AC_DEFUN([DT_SUMMARY_LINE], [AS_IF([test $2 = yes], [AC_MSG_NOTICE([  $1: yes$4])], [AC_MSG_NOTICE([  $1: no, $3])])])

AC_DEFUN([DT_SUMMARY], [
  AC_MSG_NOTICE([dtrain $PACKAGE_VERSION will build])
  dt_plugin=no
  AS_IF([test $dt_slurm = yes && test $dt_hwloc = yes], [dt_plugin=yes])
  AS_IF([test $dt_slurm = no], [dt_plugin_why=$dt_slurm_why], [dt_plugin_why=$dt_hwloc_why])
  DT_SUMMARY_LINE([SPANK plugin], [$dt_plugin], [$dt_plugin_why], [ (for Slurm $dt_slurm_version only, installed in $slurmplugindir)])
  DT_SUMMARY_LINE([libdtrain under Slurm], [$dt_pmix], [$dt_pmix_why: a world of one only], [ (PMIx)])
  DT_SUMMARY_LINE([topologies in NCCL's XML], [$dt_expat], [$dt_expat_why], [ (expat)])
  DT_SUMMARY_LINE([NCCL backend], [$dt_nccl], [$dt_nccl_why], [ (nvcc $NVCCFLAGS)])
  DT_SUMMARY_LINE([examples/train], [$dt_openblas], [$dt_openblas_why], [ (BLAS)])
  DT_SUMMARY_LINE([examples/train on GPUs], [$dt_cublas], [$dt_cublas_why], [ (cuBLAS)])
  DT_SUMMARY_LINE([CUDA kernels on the CPU, in make check], [$dt_cxx], [$dt_cxx_why], [ ($CXX)])
  AC_MSG_NOTICE([  sanitizers: $enable_sanitizer; libFuzzer: $enable_fuzzer])
])
