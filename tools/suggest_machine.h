/*
 * suggest_machine.h - the nodes that train, as the cost model sees them: bytes a
 * second of each way, and what a GPU can do. Made from a topology, then data.
 */
#ifndef DT_TOOLS_SUGGEST_MACHINE_H
#define DT_TOOLS_SUGGEST_MACHINE_H

#include "tools/suggest_gpu.h"
#include "topo/topo.h"

#define DT_SUGGEST_NIC_ASSUMED 2.5e10 /* bytes a second of a NIC that nothing is known of: 200 Gbit/s */

struct dt_suggest_link {
    double bytes_s;    /* what a GPU can send while it receives as much; published, not achieved */
    double latency_s;  /* of one message */
    enum dt_path path; /* DT_PATH_SELF: there is none, one GPU; of the NICs: DT_PATH_UNKNOWN */
};

struct dt_suggest_machine {
    char source[128];     /* for messages */
    uint32_t nodes, gpus; /* gpus: of a node */
    uint32_t nics;        /* of a node, in use */
    double memory;        /* bytes of a GPU */
    double memory_bytes_s;
    double flops; /* a second, of the model's precision */
    bool is_nic_assumed;
    struct dt_suggest_link tp[DT_TOPO_GPUS_MAX + 1]; /* inside a tensor parallel group of that many GPUs,
                                                        which divides gpus; else bytes_s is 0 */
    struct dt_suggest_link node;                     /* between any GPUs of a node: the slowest pair */
    struct dt_suggest_link nic;                      /* to other nodes; bytes_s of all NICs of a node */
};

/*
 * Tensor parallel groups lie where dt_bind() puts them. Refuses a node without GPUs, a kind of GPU that is
 * not known or not said, a precision that it lacks, several nodes without NICs.
 */
int dt_suggest_machine_init(struct dt_suggest_machine *machine, const struct dt_topo *topo,
                            const struct dt_suggest_machine_request *request, struct dtrain_error *err);

/* The way among `count` GPUs, by index into topo->gpus: what they send each other by links, else by PCIe. */
struct dt_suggest_link dt_suggest_machine_link(const struct dt_topo *topo, const uint32_t *gpus,
                                               uint32_t count, const struct dt_suggest_gpu *kind);

#endif
