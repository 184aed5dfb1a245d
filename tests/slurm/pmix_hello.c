/* Every rank puts a value, all collect, and each reads that of the rank half the job away, on another node: prints "RANK:ok". */
#include <pmix.h>
#include <stdio.h>

static int fail(const char *what, pmix_status_t status)
{
	fprintf(stderr, "%s: %s\n", what, PMIx_Error_string(status));
	return 1;
}

static pmix_status_t read_u32(const pmix_proc_t *proc, const char *key, uint32_t *number)
{
	pmix_value_t *value;
	pmix_status_t status = PMIx_Get(proc, key, NULL, 0, &value);

	if (status != PMIX_SUCCESS)
		return status;
	*number = value->data.uint32;
	PMIX_VALUE_RELEASE(value);
	return PMIX_SUCCESS;
}

int main(void)
{
	pmix_proc_t me, other;
	pmix_value_t value;
	pmix_info_t collect;
	bool yes = true;
	uint32_t size, got;
	pmix_status_t status;

	if ((status = PMIx_Init(&me, NULL, 0)) != PMIX_SUCCESS)
		return fail("PMIx_Init", status);
	PMIX_PROC_CONSTRUCT(&other);
	PMIX_LOAD_PROCID(&other, me.nspace, PMIX_RANK_WILDCARD);
	if ((status = read_u32(&other, PMIX_JOB_SIZE, &size)) != PMIX_SUCCESS)
		return fail("PMIX_JOB_SIZE", status);
	value.type = PMIX_UINT32;
	value.data.uint32 = 1000 + me.rank;
	PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
	if ((status = PMIx_Put(PMIX_GLOBAL, "hello", &value)) != PMIX_SUCCESS || (status = PMIx_Commit()) != PMIX_SUCCESS)
		return fail("PMIx_Put", status);
	PMIX_LOAD_PROCID(&other, me.nspace, PMIX_RANK_WILDCARD);
	if ((status = PMIx_Fence(&other, 1, &collect, 1)) != PMIX_SUCCESS)
		return fail("PMIx_Fence", status);
	other.rank = (me.rank + size / 2) % size;
	if ((status = read_u32(&other, "hello", &got)) != PMIX_SUCCESS)
		return fail("PMIx_Get", status);
	if ((status = PMIx_Finalize(NULL, 0)) != PMIX_SUCCESS)
		return fail("PMIx_Finalize", status);
	printf("%u:%s\n", me.rank, got == 1000 + other.rank ? "ok" : "wrong");
	return got != 1000 + other.rank;
}
