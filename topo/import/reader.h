/* reader.h - one pair for each text that is understood; the rows of import.c. */
#ifndef DT_TOPO_IMPORT_READER_H
#define DT_TOPO_IMPORT_READER_H

#include "topo/topo.h"

/* `nvidia-smi topo -m`: a table of all devices, then affinities of the GPUs, then the names of the NICs. */
bool dt_nvidia_smi_recognises(const char *text, size_t size);
int dt_nvidia_smi_read(struct dt_topo **topo, const char *text, size_t size, const char *source,
                       struct dtrain_error *err);

/* `rocm-smi --showtopo` or parts of it: weights, hops, kinds of links, NUMA nodes. */
bool dt_rocm_smi_recognises(const char *text, size_t size);
int dt_rocm_smi_read(struct dt_topo **topo, const char *text, size_t size, const char *source,
                     struct dtrain_error *err);

/* NCCL_TOPO_DUMP_FILE's and NCCL_TOPO_FILE's XML, RCCL's too. */
bool dt_nccl_xml_recognises(const char *text, size_t size);
int dt_nccl_xml_read(struct dt_topo **topo, const char *text, size_t size, const char *source,
                     struct dtrain_error *err);

/* The first element of an XML has that name. */
bool dt_import_has_root(const char *text, size_t size, const char *name);

#endif
