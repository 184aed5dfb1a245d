/* topology.conf: what is read orders nodes without losing one, and has levels within its bounds. */
#include <stdlib.h>
#include <string.h>

#include "core/switches.h"
#include "fuzz.h"

#define NODES 6

const char dt_fuzz_name[] = "switches";
unsigned long dt_fuzz_accepted;
const char *const dt_fuzz_seeds[] = {
    "SwitchName=s0 Nodes=n[0-2]\nSwitchName=s1 Nodes=n[3-5]\nSwitchName=s2 Switches=s[0-1]\n",
    "BlockName=b1 Nodes=n[0-1]\nBlockName=b2 Nodes=n[2-3]\nBlockName=b3 Nodes=n[4-5]\nBlockSizes=2,4,8\n",
    "# a comment\nswitchname = s1 \\\n nodes=\"n1,n5\" LINKSPEED=100 # here too\r\nSwitchName=s2 Nodes=n2",
    "SwitchName=a Switches=b\nSwitchName=b Switches=a\n",
    "SwitchName=r Switches=a\nSwitchName=a Switches=b\nSwitchName=b Nodes=n1\nSwitchName=q Switches=b\n",
    "SwitchName=s1 Nodes=n[1-",
    "BlockSizes=2,3\n",
    NULL,
};

static const char *const nodes[NODES] = {"n0", "n1", "n2", "n3", "n4", "n5"};

static void check(const struct dt_switches *switches)
{
    uint32_t order[NODES], levels = dt_switches_levels(switches);
    unsigned seen = 0;

    dt_fuzz_require(levels >= 1 && levels <= DT_SWITCHES_LEVELS_MAX, "tiers within their bounds");
    dt_fuzz_require(dt_switches_order(order, switches, nodes, NODES, NULL) == 0, "nodes can be put in order");
    for (int i = 0; i < NODES; i++) {
        dt_fuzz_require(order[i] < NODES && !(seen & 1u << order[i]), "each node once");
        seen |= 1u << order[i];
    }
    for (int i = 0; i < NODES * NODES; i++) {
        const char *a = nodes[i / NODES], *b = nodes[i % NODES];
        uint32_t level = dt_switches_level(switches, a, b);

        dt_fuzz_require(level <= levels + 1 && (level == 0) == (a == b), "a level within its bounds");
        dt_fuzz_require(level == dt_switches_level(switches, b, a), "the same level both ways");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct dtrain_error err = {""};
    struct dt_switches *switches = NULL;
    char *text = malloc(n > 0 ? n : 1);

    dt_fuzz_require(text != NULL, "memory for the input");
    if (n > 0)
        memcpy(text, data, n);
    if (dt_switches_parse(&switches, text, n, "f", &err) == 0) {
        dt_fuzz_accepted++;
        check(switches);
    } else {
        dt_fuzz_require(switches == NULL && strncmp(err.text, "f:", 2) == 0, "a refusal says where");
    }
    dt_switches_destroy(switches);
    free(text);
    return 0;
}
