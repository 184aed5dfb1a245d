/* What a child sends, should a hostile file have taken it over. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "topo/topo_wire.h"

const char dt_fuzz_name[] = "topo_wire";
unsigned long dt_fuzz_accepted;
/* Each makes two topologies. */
const uint32_t dt_fuzz_cost = 10;

#define PLACES 256u

/* The input is laid over a good message, near its begin (counts) or its end (sets of CPUs). */
const char *const dt_fuzz_seeds[] = {"", "00000000", "0016", "9999;1-3,5", "12[1-3]", NULL};

static void make_message(struct dt_topo_wire *wire)
{
    struct dtrain_error err;
    struct dt_topo *topo = dt_topo_create("good", &err);

    dt_fuzz_require(topo != NULL, "memory for a topology");
    topo->gpu_count = topo->nic_count = topo->numa_count = 1;
    topo->gpus[0].part = -1;
    topo->nic_path[0][0].path = DT_PATH_SYSTEM;
    hwloc_bitmap_set_range(topo->cpus, 0, 7);
    dt_fuzz_require(dt_topo_wire_put_topo(wire, topo) == 0, "memory for a message");
    dt_topo_destroy(topo);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct dt_topo_wire wire = {0};
    struct dtrain_error err = {""};
    struct dt_topo *topo = NULL;
    uint32_t at = 0;

    make_message(&wire);
    memcpy(&at, data, n < sizeof(at) ? n : sizeof(at));
    at = at % 2 == 0 ? at / 2 % PLACES : (uint32_t)wire.size - 1 - at / 2 % PLACES;
    if (n > sizeof(at))
        memcpy(wire.bytes + at, data + sizeof(at),
               n - sizeof(at) < wire.size - at ? n - sizeof(at) : wire.size - at);
    if (dt_topo_wire_get_topo(&topo, &wire, "fuzz", &err) == 0) {
        dt_fuzz_accepted++;
        dt_fuzz_require(dt_topo_check(topo, &err) == 0, "a topology that was read is whole");
    } else {
        dt_fuzz_require(topo == NULL && err.text[0] != '\0', "a refusal makes no topology and says why");
    }
    dt_topo_destroy(topo);
    dt_topo_wire_destroy(&wire);
    return 0;
}
