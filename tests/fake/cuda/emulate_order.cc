#include "emulate_order.h"

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern "C" {
#include "tests/fake/nccl/fake.h"
}

enum mode { UNREAD, FORWARD, REVERSE, RANDOM };

static enum mode mode;
static uint64_t state; /* of the random numbers */

static void read_mode(void)
{
    const char *text = getenv("CUDA_EMULATE_ORDER");

    mode = FORWARD;
    if (text == NULL || strcmp(text, "forward") == 0)
        return;
    if (strcmp(text, "reverse") == 0)
        mode = REVERSE;
    else if (sscanf(text, "random:%lu", &state) == 1)
        mode = RANDOM;
    else
        fake_violation("CUDA_EMULATE_ORDER=%s: expected forward, reverse or random:SEED", text);
}

/* Knuth's linear congruence; its high bits. */
static unsigned random_below(unsigned n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((state >> 33) % n);
}

void emulate_order_make(unsigned *order, unsigned n)
{
    if (mode == UNREAD)
        read_mode();
    for (unsigned i = 0; i < n; i++)
        order[i] = mode == REVERSE ? n - 1 - i : i;
    for (unsigned i = n; mode == RANDOM && i > 1; i--) {
        unsigned at = random_below(i), last = order[i - 1];

        order[i - 1] = order[at];
        order[at] = last;
    }
}
