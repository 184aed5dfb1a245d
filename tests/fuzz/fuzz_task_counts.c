/* Slurm's task counts: within their bounds, and the same again when written one by one. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/parse.h"
#include "fuzz.h"

#define NODES_MAX 5000u
#define TASKS_MAX 65535u
#define COUNT_BYTES_MAX 6 /* five digits and a comma */

const char dt_fuzz_name[] = "task_counts";
unsigned long dt_fuzz_accepted;
const char *const dt_fuzz_seeds[] = {
    "2(x3),1", "8",      "16(x1000)", "5,4(x3),5(x2),4", "65535(x2),0",   "1(x4000000000)",
    "2(x3",    "2(x),1", "(x3)",      "2(x0)",           "1(x4999),1(x1)", "00008(x0002)",
    NULL,
};

static void check_again(const uint32_t *counts, uint32_t n)
{
    char *text = malloc((size_t)n * COUNT_BYTES_MAX + 1);
    char *to = text;
    uint32_t *again = NULL;
    uint32_t n_again = 0;

    dt_fuzz_require(text != NULL, "memory for the text");
    for (uint32_t i = 0; i < n; i++)
        to += sprintf(to, "%s%" PRIu32, i == 0 ? "" : ",", counts[i]);
    dt_fuzz_require(dt_parse_task_counts(&again, &n_again, text, NODES_MAX, TASKS_MAX, "t", NULL) == 0,
                    "counts written one by one are read");
    dt_fuzz_require(n_again == n && memcmp(again, counts, n * sizeof(*counts)) == 0,
                    "counts written one by one are the same");
    free(again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = dt_fuzz_text(data, n);
    struct dtrain_error err;
    uint32_t *counts = NULL;
    uint32_t count = 0;

    if (dt_parse_task_counts(&counts, &count, text, NODES_MAX, TASKS_MAX, "t", &err) == 0) {
        dt_fuzz_accepted++;
        dt_fuzz_require(count >= 1 && count <= NODES_MAX, "as many counts as allowed");
        for (uint32_t i = 0; i < count; i++)
            dt_fuzz_require(counts[i] <= TASKS_MAX, "a count within its bound");
        check_again(counts, count);
    } else {
        dt_fuzz_require(counts == NULL && err.text[0] == 't', "a refusal allocates nothing and says why");
    }
    free(counts);
    free(text);
    return 0;
}
