/* dtrain.conf: what is read is possible, and what is refused changes nothing. */
#include <stdlib.h>
#include <string.h>

#include "core/conf.h"
#include "fuzz.h"

const char dt_fuzz_name[] = "conf";
unsigned long dt_fuzz_accepted;
const char *const dt_fuzz_seeds[] = {
    "",
    "# a comment\n\n  tp_span\t= any # here too\r\n",
    "order = pp-dp-ep-cp-tp\nbackend = host\nport_min = 1024\nport_max = 65535\n",
    "mpi = none\nreport = json",
    "port_min = 30000\n",
    "mpi = pmix\nmpi = pmix\n",
    "order = tp-tp\n",
    "backend =\n",
    NULL,
};

static void check(const struct dt_conf *conf)
{
    dt_fuzz_require(conf->port_min <= conf->port_max && conf->port_min >= 1024, "ports are a range");
    dt_fuzz_require(conf->tp_span <= DT_SPAN_ANY && conf->report <= DT_REPORT_JSON, "words are known");
    dt_fuzz_require(conf->order[0] != '\0' && memchr(conf->order, '\0', sizeof(conf->order)) != NULL &&
                        memchr(conf->mpi, '\0', sizeof(conf->mpi)) != NULL,
                    "texts end");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct dtrain_error err = {""};
    struct dt_conf conf;
    struct dt_conf before;
    char *text = malloc(n > 0 ? n : 1);

    dt_fuzz_require(text != NULL, "memory for the input");
    if (n > 0)
        memcpy(text, data, n);
    dt_conf_defaults(&conf);
    before = conf;
    if (dt_conf_parse(&conf, text, n, "f", &err) == 0) {
        dt_fuzz_accepted++;
        check(&conf);
    } else {
        dt_fuzz_require(memcmp(&conf, &before, sizeof(conf)) == 0, "a refusal changes nothing");
        dt_fuzz_require(strncmp(err.text, "f:", 2) == 0, "a refusal says where");
    }
    free(text);
    return 0;
}
