/*
 * visible.h - lists of visible devices, as CUDA_VISIBLE_DEVICES,
 * ROCR_VISIBLE_DEVICES and ZE_AFFINITY_MASK hold them: node indices ("2,3"),
 * UUIDs ("GPU-8f2a...", "MIG-..."), or tiles ("0.1"). Pure.
 *
 * All tasks of a node get the same list, permuted so that entry LOCAL_RANK is
 * the task's own device. Nothing is ever added to what Slurm gave.
 */
#ifndef DT_TOPO_VISIBLE_H
#define DT_TOPO_VISIBLE_H

#include <stdint.h>

#include "core/error.h"

#define DT_VISIBLE_TEXT_MAX 16384u /* bytes of a list with the NUL */
#define DT_VISIBLE_ENTRIES_MAX 256u
#define DT_VISIBLE_ENTRY_MAX 128u /* bytes of one entry without the NUL */

struct dt_visible {
    uint32_t count;
    char entries[DT_VISIBLE_ENTRIES_MAX][DT_VISIBLE_ENTRY_MAX + 1];
};

/*
 * "" and Slurm's "NoDevFiles" are the list of none. Refuses empty and repeated
 * entries, characters that no list has, and what is over a bound; the error
 * begins with the variable's name.
 */
int dt_visible_parse(struct dt_visible *visible, const char *text, const char *variable,
                     struct dtrain_error *err);

/*
 * The list in which entry i is entry own[i] of what Slurm gave, for i < own_count;
 * the entries that own does not name follow in their order. own NULL: as it was.
 * Refuses an own that repeats or leaves the list.
 */
int dt_visible_format(char text[DT_VISIBLE_TEXT_MAX], const struct dt_visible *visible, const uint32_t *own,
                      uint32_t own_count, struct dtrain_error *err);

#endif
