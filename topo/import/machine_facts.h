/*
 * machine_facts.h - machines as published, one text each, a line for each thing:
 *
 *   vendor nvidia|amd                                of the GPUs below
 *   numa 3 socket 0 cpus 48-63,176-191 threads 2     threads a core: as many runs as threads pair up in
 *                                                    order, else neighbours are one core
 *   numa 4 memory                                    of a GPU, without CPUs
 *   gpu 0000:07:00.0 numa 3 [cpus LIST] [package 0] [at PLACE]
 *   nic mlx5_0 0000:0c:00.0 KIND numa 3 [at PLACE] [storage]     "-" for a PCI address that is not published
 *   all nvswitch 12                                  every two GPUs
 *   link 0 1 nvlink 2                                two GPUs, counted from 0 in the order above
 *
 * PLACE is a way from the host bridge: bridge, bridge/switch, bridge/switch/switch. What has all of it in
 * common is at one switch. KIND is infiniband, roce, slingshot or efa.
 */
#ifndef DT_TOPO_IMPORT_MACHINE_FACTS_H
#define DT_TOPO_IMPORT_MACHINE_FACTS_H

#include "import.h"

/* The text of each machine stands at the same index. */
#define DT_MACHINE_FACTS_COUNT 15u
extern const struct dt_import_machine dt_machine_facts[DT_MACHINE_FACTS_COUNT];
extern const char *const dt_machine_texts[DT_MACHINE_FACTS_COUNT];

#endif
