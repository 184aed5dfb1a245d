/* emulate_order.h - CUDA_EMULATE_ORDER: in which order the blocks, warps and lanes of a launch run. */
#ifndef DT_TESTS_FAKE_CUDA_EMULATE_ORDER_H
#define DT_TESTS_FAKE_CUDA_EMULATE_ORDER_H

/* order[n]: each of 0 to n - 1 once; random orders differ from call to call. */
void emulate_order_make(unsigned *order, unsigned n);

#endif
