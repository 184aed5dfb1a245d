/* The plan's variable: what is read is written as the same text. */
#include <stdlib.h>
#include <string.h>

#include "core/plan_wire.h"
#include "fuzz.h"

const char dt_fuzz_name[] = "plan_wire";
unsigned long dt_fuzz_accepted;
#define HEAD "1;tp=2;cp=1;ep=1;dp=2;pp=2;etp=2;order=tp-cp-ep-dp-pp;span=node;backend=auto;"
const char *const dt_fuzz_seeds[] = {
    HEAD "nodes=n[1-2];tasks=4(x2);procids=0+8:1;addr=10.0.0.1;port=20001",
    HEAD "nodes=n[1-2];tasks=4(x2);procids=0+4:2/2:1;addr=;port=0",
    HEAD "nodes=n[2,1];tasks=4(x2);procids=1,0,2+6:1;addr=fe80::1;port=65535",
    "1;tp=1;cp=1;ep=1;dp=3;pp=1;etp=1;order=pp-dp-ep-cp-tp;span=any;backend=host;nodes=a,b;tasks=2,1;"
    "procids=0+3:1;addr=;port=0",
    "1;tp=1;cp=1;ep=2;dp=2;pp=1;etp=1;order=tp-cp-ep-dp-pp;span=node;backend=nccl;nodes=x;tasks=2;"
    "procids=0+2:1;addr=127.0.0.1;port=1024",
    "2;tp=1",
    NULL,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = dt_fuzz_text(data, n);
    struct dtrain_error err = {""};
    struct dt_plan *plan = NULL;
    char *again = NULL;

    if (dt_plan_wire_decode(&plan, text, &err) == 0) {
        dt_fuzz_accepted++;
        dt_fuzz_require(dt_plan_wire_encode(&again, plan, NULL) == 0, "a plan that was read can be written");
        dt_fuzz_require(strcmp(again, text) == 0, "what is written is what was read");
    } else {
        dt_fuzz_require(plan == NULL && err.text[0] != '\0', "a refusal makes no plan and says why");
    }
    free(again);
    dt_plan_destroy(plan);
    free(text);
    return 0;
}
