/* Hostlists: what is read can be written, and what was written reads the same. */
#include <stdlib.h>
#include <string.h>

#include "core/hostlist.h"
#include "fuzz.h"

#define AGAIN_MAX 5000 /* longer lists say nothing new and take long */

const char dt_fuzz_name[] = "hostlist";
unsigned long dt_fuzz_accepted;
const char *const dt_fuzz_seeds[] = {
    "n1",
    "n[1-3,07],login1",
    "n[001-010,012]-ib[0-1]",
    "r[0-1]c[0-1]s[0-1]b[0-1]n[0]",
    "n[08-012]",
    "a[1,3]b2",
    "n[1-3],n2,n[18446744073709551614-18446744073709551615]",
    "n9,n10,n011,n12,n12,x,x",
    "n[0-65535][0-65535]",
    "n]1[",
    "n1,,n2",
    "[00-03][5]",
    "gpu-st-p4d24xlarge-[1-4],gpu-dy-p4d24xlarge-[1-2]",
    NULL,
};

static const char **borrow_names(const struct dt_hostlist *list)
{
    uint32_t n = dt_hostlist_count(list);
    const char **names = malloc(n * sizeof(*names));

    dt_fuzz_require(names != NULL, "memory for the names");
    for (uint32_t i = 0; i < n; i++) {
        names[i] = dt_hostlist_name(list, i);
        dt_fuzz_require(names[i] != NULL && names[i][0] != '\0' && strlen(names[i]) <= DT_HOSTLIST_NAME_MAX,
                        "a name within its bounds");
    }
    return names;
}

static void check_again(const struct dt_hostlist *list)
{
    const char **names = borrow_names(list);
    struct dt_hostlist *again = NULL;
    char *text = NULL;

    dt_fuzz_require(dt_hostlist_format(&text, names, dt_hostlist_count(list), NULL) == 0,
                    "names that were read can be written");
    dt_fuzz_require(dt_hostlist_parse(&again, text, NULL) == 0, "what was written is read");
    dt_fuzz_require(dt_hostlist_count(again) == dt_hostlist_count(list), "as many names again");
    for (uint32_t i = 0; i < dt_hostlist_count(list); i++)
        dt_fuzz_require(strcmp(dt_hostlist_name(again, i), names[i]) == 0, "the same names again");
    dt_hostlist_destroy(again);
    free(text);
    free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = dt_fuzz_text(data, n);
    struct dtrain_error err = {""};
    struct dt_hostlist *list = NULL;

    if (dt_hostlist_parse(&list, text, &err) == 0) {
        dt_fuzz_accepted++;
        if (dt_hostlist_count(list) <= AGAIN_MAX)
            check_again(list);
    } else {
        dt_fuzz_require(list == NULL && strstr(err.text, " at byte ") != NULL, "a refusal says where");
    }
    dt_hostlist_destroy(list);
    free(text);
    return 0;
}
