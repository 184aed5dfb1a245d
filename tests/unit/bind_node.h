/* bind_node.h - nodes built in memory for tests of the binder, and what a binding of them must keep. */
#ifndef DT_TESTS_BIND_NODE_H
#define DT_TESTS_BIND_NODE_H

#include "topo/bind.h"

/* NUMA nodes of `cores` cores each; CPU c and c + all cores are the two threads of core c. */
struct dt_topo *node_create(uint32_t numas, uint32_t cores);

/* GPU `i` at PCI bus 10 + i; numa -1: nowhere. Paths to the others begin as SYSTEM. */
uint32_t node_add_gpu(struct dt_topo *topo, int numa);
uint32_t node_add_nic(struct dt_topo *topo, int numa, const char *name);

void node_link(struct dt_topo *topo, uint32_t a, uint32_t b, enum dt_path path, uint16_t count);
void node_link_all(struct dt_topo *topo, enum dt_path path, uint16_t count);

/* Machines of 8 GPUs. */
struct dt_topo *node_dgx_a100(void);
struct dt_topo *node_dgx_1v(void);
struct dt_topo *node_pcie_pairs(void);
struct dt_topo *node_mi250x(void);

/* tasks in groups of `size` neighbours; cpus NULL: all. NULL with the reason on stdout when it fails. */
struct dt_binding *node_bind(const struct dt_topo *topo, uint32_t tasks, uint32_t size,
                             const char *cpus, const uint32_t *gpus, uint32_t gpu_count);

/* "0 3 1 2": the GPU of each task. */
const char *node_gpus(const struct dt_binding *binding);
/* "0-3,8-11 4-7,12-15": the CPUs of each task; "-" where Slurm's are kept. */
const char *node_cpus(const struct dt_binding *binding);
/* "mlx5_0 mlx5_1 -": the NIC of each task. */
const char *node_nics(const struct dt_binding *binding, const struct dt_topo *topo);

/* Equal; else shows the difference. */
bool node_is(const char *got, const char *expected);

#endif
