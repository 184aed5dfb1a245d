/*
 * bare_pmix.c - the peer of bench/bringup.sh: a program that makes the PMIx
 * calls of dtrain_init() and nothing else, and prints their times on task 0.
 */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CARD_BYTES 512

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void must(pmix_status_t status, const char *what)
{
    if (status == PMIX_SUCCESS)
        return;
    fprintf(stderr, "%s: %s\n", what, PMIx_Error_string(status));
    exit(1);
}

static void put_card(void)
{
    char card[CARD_BYTES];
    pmix_value_t value;

    memset(card, 'x', sizeof(card));
    PMIX_VALUE_CONSTRUCT(&value);
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = card;
    value.data.bo.size = sizeof(card);
    must(PMIx_Put(PMIX_GLOBAL, "bare.card", &value), "PMIx_Put");
    must(PMIx_Commit(), "PMIx_Commit");
}

static void fence(void)
{
    bool collect = true;
    pmix_info_t info;

    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    must(PMIx_Fence(NULL, 0, &info, 1), "PMIx_Fence");
    PMIX_INFO_DESTRUCT(&info);
}

static void get_card(const char *nspace, pmix_rank_t rank)
{
    pmix_value_t *value;
    pmix_proc_t proc;

    PMIX_LOAD_PROCID(&proc, nspace, rank);
    must(PMIx_Get(&proc, "bare.card", NULL, 0, &value), "PMIx_Get");
    PMIX_VALUE_RELEASE(value);
}

int main(void)
{
    double t[6];
    pmix_proc_t self;

    t[0] = now_ms();
    must(PMIx_Init(&self, NULL, 0), "PMIx_Init");
    t[1] = now_ms();
    put_card();
    t[2] = now_ms();
    fence();
    t[3] = now_ms();
    get_card(self.nspace, 0);
    t[4] = now_ms();
    must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
    t[5] = now_ms();
    if (self.rank == 0)
        printf("bare PMIx: up in %.1f ms: init %.1f, put+commit %.1f, fence %.1f, get %.1f, finalize %.1f\n", t[5] - t[0],
               t[1] - t[0], t[2] - t[1], t[3] - t[2], t[4] - t[3], t[5] - t[4]);
    return 0;
}
