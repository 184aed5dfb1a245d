/*
 * gpus.h - how many GPUs a node of a step can have, as far as the texts of its
 * request show it. Pure. Slurm writes "gres:gpu:4", "gres:gpu:a100:4" or, in
 * newer releases, "gres/gpu:4", several joined by commas.
 */
#ifndef DT_PLUGIN_GPUS_H
#define DT_PLUGIN_GPUS_H

#include <stdint.h>

#define DT_GPUS_MAX 65535u
#define DT_GPUS_ITEM_MAX 128 /* bytes of one item with the NUL */

/* GPUs named by one text, all types together; 0 when it names none or is not understood. NULL is "". */
uint32_t dt_gpus_count(const char *text);

/*
 * The most that one node can have: what is asked for each node, or what is left
 * of the whole step's when every other node has one. 0: the request does not say.
 */
uint32_t dt_gpus_per_node(const char *per_node, const char *per_step, uint32_t node_count);

#endif
