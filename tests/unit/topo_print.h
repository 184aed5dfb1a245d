/*
 * topo_print.h - a topology as few lines of text, for goldens:
 *   gpu 0 0000:07:00.0 nvidia numa=3 socket=0 cpus=48-63,176-191 nics=mlx5_0,mlx5_1:switches
 *   links: 0-1 NVSwitch:12 ...
 */
#ifndef DT_TESTS_TOPO_PRINT_H
#define DT_TESTS_TOPO_PRINT_H

#include "topo/topo.h"

#define TOPO_PRINT_MAX 65536

/* One line for a GPU; its NICs are the nearest that are used, with their path. */
void topo_print_gpu(char *line, size_t size, const struct dt_topo *topo, uint32_t gpu);

/* "NV" and the like: a letter for each kind of path, with its count, a row for each GPU. */
void topo_print_paths(char *text, size_t size, const struct dt_topo *topo);

/* "mlx5_0 mlx5_1": the NICs that are used, or not. */
void topo_print_nics(char *text, size_t size, const struct dt_topo *topo, bool is_used);

#endif
