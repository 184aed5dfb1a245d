/* topo_hwloc.h - a topology from hwloc: an XML, or this machine. */
#ifndef DT_TOPO_TOPO_HWLOC_H
#define DT_TOPO_TOPO_HWLOC_H

#include "topo/topo.h"

#define DT_TOPO_XML_MAX (16u * 1024u * 1024u) /* bytes of an XML */

/* An XML in memory (hwloc 1.x and 2.x forms); `source` for messages. Hostile input is refused. */
int dt_topo_from_xml(struct dt_topo **topo, const char *text, size_t size, const char *source,
                     struct dtrain_error *err);

/* "pack:2 core:8 pu:1": no devices. */
int dt_topo_from_synthetic(struct dt_topo **topo, const char *description, struct dtrain_error *err);

/*
 * This machine, from PCI, sysfs and /proc/driver/nvidia only: no vendor runtime
 * is loaded, none even opened. Safe in slurmstepd; takes at most timeout_ms even
 * when sysfs hangs (then it fails).
 */
int dt_topo_from_machine(struct dt_topo **topo, int timeout_ms, struct dtrain_error *err);

/*
 * A file saved by `dtrain topo --save`, read as root only if root owns it and all
 * folders above it and nobody else can write them. *is_absent: there is none.
 */
int dt_topo_from_trusted_file(struct dt_topo **topo, const char *path, bool *is_absent,
                              struct dtrain_error *err);

/*
 * The hwloc XML of this machine, to be saved once: with the links that vendors'
 * management libraries know (NVML, ROCm SMI, Level Zero), where hwloc has its
 * plugins for them. Not for slurmstepd. *text malloc'd.
 */
int dt_topo_export_machine(char **text, size_t *size, struct dtrain_error *err);

#endif
