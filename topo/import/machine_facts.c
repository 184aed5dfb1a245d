#include "machine_facts.h"

/* Two nets and two GPUs a switch; mlx5_4, 5, 10 and 11 are for storage. */
static const char dgx_a100[] =
    "vendor nvidia\n"
    "numa 0 socket 0 cpus 0-15,128-143 threads 2\n"
    "numa 1 socket 0 cpus 16-31,144-159 threads 2\n"
    "numa 2 socket 0 cpus 32-47,160-175 threads 2\n"
    "numa 3 socket 0 cpus 48-63,176-191 threads 2\n"
    "numa 4 socket 1 cpus 64-79,192-207 threads 2\n"
    "numa 5 socket 1 cpus 80-95,208-223 threads 2\n"
    "numa 6 socket 1 cpus 96-111,224-239 threads 2\n"
    "numa 7 socket 1 cpus 112-127,240-255 threads 2\n"
    "gpu 0000:07:00.0 numa 3 at r3/s/gpus\n"
    "gpu 0000:0f:00.0 numa 3 at r3/s/gpus\n"
    "gpu 0000:47:00.0 numa 1 at r1/s/gpus\n"
    "gpu 0000:4e:00.0 numa 1 at r1/s/gpus\n"
    "gpu 0000:87:00.0 numa 7 at r7/s/gpus\n"
    "gpu 0000:90:00.0 numa 7 at r7/s/gpus\n"
    "gpu 0000:b7:00.0 numa 5 at r5/s/gpus\n"
    "gpu 0000:bd:00.0 numa 5 at r5/s/gpus\n"
    "nic mlx5_0 0000:0c:00.0 infiniband numa 3 at r3/s/nics\n"
    "nic mlx5_1 0000:12:00.0 infiniband numa 3 at r3/s/nics\n"
    "nic mlx5_2 0000:4b:00.0 infiniband numa 1 at r1/s/nics\n"
    "nic mlx5_3 0000:54:00.0 infiniband numa 1 at r1/s/nics\n"
    "nic mlx5_4 0000:61:00.0 infiniband numa 0 at r0/s storage\n"
    "nic mlx5_5 0000:61:00.1 infiniband numa 0 at r0/s storage\n"
    "nic mlx5_6 0000:8d:00.0 infiniband numa 7 at r7/s/nics\n"
    "nic mlx5_7 0000:94:00.0 infiniband numa 7 at r7/s/nics\n"
    "nic mlx5_8 0000:ba:00.0 infiniband numa 5 at r5/s/nics\n"
    "nic mlx5_9 0000:cc:00.0 infiniband numa 5 at r5/s/nics\n"
    "nic mlx5_10 0000:e1:00.0 infiniband numa 4 at r4/s storage\n"
    "nic mlx5_11 0000:e1:00.1 infiniband numa 4 at r4/s storage\n"
    "all nvswitch 12\n";

/* A net at each GPU; mlx5_1, 2, 7 and 8 are for storage. */
static const char dgx_h100[] =
    "vendor nvidia\n"
    "numa 0 socket 0 cpus 0-55,112-167 threads 2\n"
    "numa 1 socket 1 cpus 56-111,168-223 threads 2\n"
    "gpu 0000:1b:00.0 numa 0 at r0/s/gpu\n"
    "gpu 0000:43:00.0 numa 0 at r1/s/gpu\n"
    "gpu 0000:52:00.0 numa 0 at r2/s/gpu\n"
    "gpu 0000:61:00.0 numa 0 at r3/s/gpu\n"
    "gpu 0000:9d:00.0 numa 1 at r4/s/gpu\n"
    "gpu 0000:c3:00.0 numa 1 at r5/s/gpu\n"
    "gpu 0000:d1:00.0 numa 1 at r6/s/gpu\n"
    "gpu 0000:df:00.0 numa 1 at r7/s/gpu\n"
    "nic mlx5_0 0000:18:00.0 infiniband numa 0 at r0/s/nic\n"
    "nic mlx5_1 0000:29:00.0 infiniband numa 0 storage\n"
    "nic mlx5_2 0000:29:00.1 infiniband numa 0 storage\n"
    "nic mlx5_3 0000:40:00.0 infiniband numa 0 at r1/s/nic\n"
    "nic mlx5_4 0000:4f:00.0 infiniband numa 0 at r2/s/nic\n"
    "nic mlx5_5 0000:5e:00.0 infiniband numa 0 at r3/s/nic\n"
    "nic mlx5_6 0000:9a:00.0 infiniband numa 1 at r4/s/nic\n"
    "nic mlx5_7 0000:aa:00.0 infiniband numa 1 storage\n"
    "nic mlx5_8 0000:aa:00.1 infiniband numa 1 storage\n"
    "nic mlx5_9 0000:c0:00.0 infiniband numa 1 at r5/s/nic\n"
    "nic mlx5_10 0000:ce:00.0 infiniband numa 1 at r6/s/nic\n"
    "nic mlx5_11 0000:dc:00.0 infiniband numa 1 at r7/s/nic\n"
    "all nvswitch 18\n";

/* A hybrid cube mesh: two links, one or none. */
static const char dgx_1v[] =
    "vendor nvidia\n"
    "numa 0 socket 0 cpus 0-19,40-59 threads 2\n"
    "numa 1 socket 1 cpus 20-39,60-79 threads 2\n"
    "gpu 0000:06:00.0 numa 0 at r0/a\n"
    "gpu 0000:07:00.0 numa 0 at r0/a\n"
    "gpu 0000:0a:00.0 numa 0 at r0/b\n"
    "gpu 0000:0b:00.0 numa 0 at r0/b\n"
    "gpu 0000:85:00.0 numa 1 at r1/a\n"
    "gpu 0000:86:00.0 numa 1 at r1/a\n"
    "gpu 0000:89:00.0 numa 1 at r1/b\n"
    "gpu 0000:8a:00.0 numa 1 at r1/b\n"
    "nic mlx5_0 0000:05:00.0 infiniband numa 0 at r0/a\n"
    "nic mlx5_1 0000:0c:00.0 infiniband numa 0 at r0/b\n"
    "nic mlx5_2 0000:84:00.0 infiniband numa 1 at r1/a\n"
    "nic mlx5_3 0000:8b:00.0 infiniband numa 1 at r1/b\n"
    "link 0 1 nvlink 1\nlink 0 2 nvlink 1\nlink 0 3 nvlink 2\nlink 0 4 nvlink 2\n"
    "link 1 2 nvlink 2\nlink 1 3 nvlink 1\nlink 1 5 nvlink 2\nlink 2 3 nvlink 2\n"
    "link 2 6 nvlink 1\nlink 3 7 nvlink 1\nlink 4 5 nvlink 1\nlink 4 6 nvlink 1\n"
    "link 4 7 nvlink 2\nlink 5 6 nvlink 2\nlink 5 7 nvlink 1\nlink 6 7 nvlink 2\n";

/* A net between two GPUs; every link leads into one of twelve switches. */
static const char dgx_2[] =
    "vendor nvidia\n"
    "numa 0 socket 0 cpus 0-23,48-71 threads 2\n"
    "numa 1 socket 1 cpus 24-47,72-95 threads 2\n"
    "gpu 0000:34:00.0 numa 0 at r0/s/a\n"
    "gpu 0000:36:00.0 numa 0 at r0/s/a\n"
    "gpu 0000:39:00.0 numa 0 at r0/s/b\n"
    "gpu 0000:3b:00.0 numa 0 at r0/s/b\n"
    "gpu 0000:57:00.0 numa 0 at r1/s/a\n"
    "gpu 0000:59:00.0 numa 0 at r1/s/a\n"
    "gpu 0000:5c:00.0 numa 0 at r1/s/b\n"
    "gpu 0000:5e:00.0 numa 0 at r1/s/b\n"
    "gpu 0000:b7:00.0 numa 1 at r2/s/a\n"
    "gpu 0000:b9:00.0 numa 1 at r2/s/a\n"
    "gpu 0000:bc:00.0 numa 1 at r2/s/b\n"
    "gpu 0000:be:00.0 numa 1 at r2/s/b\n"
    "gpu 0000:e0:00.0 numa 1 at r3/s/a\n"
    "gpu 0000:e2:00.0 numa 1 at r3/s/a\n"
    "gpu 0000:e5:00.0 numa 1 at r3/s/b\n"
    "gpu 0000:e7:00.0 numa 1 at r3/s/b\n"
    "nic mlx5_0 0000:35:00.0 infiniband numa 0 at r0/s/a\n"
    "nic mlx5_1 0000:3a:00.0 infiniband numa 0 at r0/s/b\n"
    "nic mlx5_2 0000:58:00.0 infiniband numa 0 at r1/s/a\n"
    "nic mlx5_3 0000:5d:00.0 infiniband numa 0 at r1/s/b\n"
    "nic mlx5_6 0000:b8:00.0 infiniband numa 1 at r2/s/a\n"
    "nic mlx5_7 0000:bd:00.0 infiniband numa 1 at r2/s/b\n"
    "nic mlx5_8 0000:e1:00.0 infiniband numa 1 at r3/s/a\n"
    "nic mlx5_9 0000:e6:00.0 infiniband numa 1 at r3/s/b\n"
    "all nvswitch 6\n";

/* Two dies a module, each at its L3; the module's net is at the odd die. */
static const char mi250x[] =
    "vendor amd\n"
    "numa 0 socket 0 cpus 0-15,64-79 threads 2\n"
    "numa 1 socket 0 cpus 16-31,80-95 threads 2\n"
    "numa 2 socket 0 cpus 32-47,96-111 threads 2\n"
    "numa 3 socket 0 cpus 48-63,112-127 threads 2\n"
    "gpu 0000:c1:00.0 numa 3 cpus 48-55,112-119 package 0\n"
    "gpu 0000:c6:00.0 numa 3 cpus 56-63,120-127 package 0 at r1\n"
    "gpu 0000:c9:00.0 numa 1 cpus 16-23,80-87 package 1\n"
    "gpu 0000:ce:00.0 numa 1 cpus 24-31,88-95 package 1 at r3\n"
    "gpu 0000:d1:00.0 numa 0 cpus 0-7,64-71 package 2\n"
    "gpu 0000:d6:00.0 numa 0 cpus 8-15,72-79 package 2 at r5\n"
    "gpu 0000:d9:00.0 numa 2 cpus 32-39,96-103 package 3\n"
    "gpu 0000:de:00.0 numa 2 cpus 40-47,104-111 package 3 at r7\n"
    "nic hsi0 0000:c5:00.0 slingshot numa 3 at r1\n"
    "nic hsi1 0000:cd:00.0 slingshot numa 1 at r3\n"
    "nic hsi2 0000:d5:00.0 slingshot numa 0 at r5\n"
    "nic hsi3 0000:dd:00.0 slingshot numa 2 at r7\n"
    "link 0 1 xgmi 4\nlink 2 3 xgmi 4\nlink 4 5 xgmi 4\nlink 6 7 xgmi 4\n"
    "link 0 6 xgmi 2\nlink 2 4 xgmi 2\n"
    "link 0 2 xgmi 1\nlink 1 3 xgmi 1\nlink 1 5 xgmi 1\nlink 3 7 xgmi 1\nlink 4 6 xgmi 1\nlink 5 7 xgmi 1\n";

static const char mi300x[] =
    "vendor amd\n"
    "numa 0 socket 0 cpus 0-95,192-287 threads 2\n"
    "numa 1 socket 1 cpus 96-191,288-383 threads 2\n"
    "gpu 0000:05:00.0 numa 0 at r0/s\n"
    "gpu 0000:26:00.0 numa 0 at r1/s\n"
    "gpu 0000:46:00.0 numa 0 at r2/s\n"
    "gpu 0000:65:00.0 numa 0 at r3/s\n"
    "gpu 0000:85:00.0 numa 1 at r4/s\n"
    "gpu 0000:a6:00.0 numa 1 at r5/s\n"
    "gpu 0000:c6:00.0 numa 1 at r6/s\n"
    "gpu 0000:e5:00.0 numa 1 at r7/s\n"
    "nic mlx5_0 - infiniband numa 0 at r0/s\n"
    "nic mlx5_1 - infiniband numa 0 at r1/s\n"
    "nic mlx5_2 - infiniband numa 0 at r2/s\n"
    "nic mlx5_3 - infiniband numa 0 at r3/s\n"
    "nic mlx5_4 - infiniband numa 1 at r4/s\n"
    "nic mlx5_5 - infiniband numa 1 at r5/s\n"
    "nic mlx5_6 - infiniband numa 1 at r6/s\n"
    "nic mlx5_7 - infiniband numa 1 at r7/s\n"
    "all xgmi 1\n";

/* APU n is PCI domain n, NUMA node n and socket n. */
static const char mi300a[] =
    "vendor amd\n"
    "numa 0 socket 0 cpus 0-23,96-119 threads 2\n"
    "numa 1 socket 1 cpus 24-47,120-143 threads 2\n"
    "numa 2 socket 2 cpus 48-71,144-167 threads 2\n"
    "numa 3 socket 3 cpus 72-95,168-191 threads 2\n"
    "gpu 0000:02:00.0 numa 0 at r0\n"
    "gpu 0001:02:00.0 numa 1 at r1\n"
    "gpu 0002:02:00.0 numa 2 at r2\n"
    "gpu 0003:02:00.0 numa 3 at r3\n"
    "nic hsi0 0000:01:00.0 slingshot numa 0 at r0\n"
    "nic hsi1 0001:01:00.0 slingshot numa 1 at r1\n"
    "nic hsi2 0002:01:00.0 slingshot numa 2 at r2\n"
    "nic hsi3 0003:01:00.0 slingshot numa 3 at r3\n"
    "all xgmi 2\n";

static const char p4d[] =
    "vendor nvidia\n"
    "numa 0 socket 0 cpus 0-23,48-71 threads 2\n"
    "numa 1 socket 1 cpus 24-47,72-95 threads 2\n"
    "gpu 0000:10:1c.0 numa 0 at r0/s\n"
    "gpu 0000:10:1d.0 numa 0 at r0/s\n"
    "gpu 0000:20:1c.0 numa 0 at r1/s\n"
    "gpu 0000:20:1d.0 numa 0 at r1/s\n"
    "gpu 0000:90:1c.0 numa 1 at r2/s\n"
    "gpu 0000:90:1d.0 numa 1 at r2/s\n"
    "gpu 0000:a0:1c.0 numa 1 at r3/s\n"
    "gpu 0000:a0:1d.0 numa 1 at r3/s\n"
    "nic rdmap16s27 0000:10:1b.0 efa numa 0 at r0/s\n"
    "nic rdmap32s27 0000:20:1b.0 efa numa 0 at r1/s\n"
    "nic rdmap144s27 0000:90:1b.0 efa numa 1 at r2/s\n"
    "nic rdmap160s27 0000:a0:1b.0 efa numa 1 at r3/s\n"
    "all nvswitch 12\n";

static const char ndv4[] =
    "vendor nvidia\n"
    "numa 0 socket 0 cpus 0-23 threads 1\n"
    "numa 1 socket 0 cpus 24-47 threads 1\n"
    "numa 2 socket 1 cpus 48-71 threads 1\n"
    "numa 3 socket 1 cpus 72-95 threads 1\n"
    "gpu 0001:00:00.0 numa 1 at r1/s\n"
    "gpu 0002:00:00.0 numa 1 at r1/s\n"
    "gpu 0003:00:00.0 numa 0 at r0/s\n"
    "gpu 0004:00:00.0 numa 0 at r0/s\n"
    "gpu 000b:00:00.0 numa 3 at r3/s\n"
    "gpu 000c:00:00.0 numa 3 at r3/s\n"
    "gpu 000d:00:00.0 numa 2 at r2/s\n"
    "gpu 000e:00:00.0 numa 2 at r2/s\n"
    "nic mlx5_ib0 0101:00:00.0 infiniband numa 1 at r1/s\n"
    "nic mlx5_ib1 0102:00:00.0 infiniband numa 1 at r1/s\n"
    "nic mlx5_ib2 0103:00:00.0 infiniband numa 0 at r0/s\n"
    "nic mlx5_ib3 0104:00:00.0 infiniband numa 0 at r0/s\n"
    "nic mlx5_ib4 0105:00:00.0 infiniband numa 3 at r3/s\n"
    "nic mlx5_ib5 0106:00:00.0 infiniband numa 3 at r3/s\n"
    "nic mlx5_ib6 0107:00:00.0 infiniband numa 2 at r2/s\n"
    "nic mlx5_ib7 0108:00:00.0 infiniband numa 2 at r2/s\n"
    "all nvswitch 12\n";

/* The GPUs' memory are NUMA nodes of their own. */
static const char gh200[] =
    "vendor nvidia\n"
    "numa 0 socket 0 cpus 0-71 threads 1\n"
    "numa 1 socket 1 cpus 72-143 threads 1\n"
    "numa 2 socket 2 cpus 144-215 threads 1\n"
    "numa 3 socket 3 cpus 216-287 threads 1\n"
    "numa 4 memory\nnuma 12 memory\nnuma 20 memory\nnuma 28 memory\n"
    "gpu 0009:01:00.0 numa 0\n"
    "gpu 0019:01:00.0 numa 1\n"
    "gpu 0029:01:00.0 numa 2\n"
    "gpu 0039:01:00.0 numa 3\n"
    "nic hsn0 - slingshot numa 0\n"
    "nic hsn1 - slingshot numa 1\n"
    "nic hsn2 - slingshot numa 2\n"
    "nic hsn3 - slingshot numa 3\n"
    "all nvlink 6\n";

static const char juwels_booster[] =
    "vendor nvidia\n"
    "numa 0 socket 0 cpus 0-5,48-53 threads 2\n"
    "numa 1 socket 0 cpus 6-11,54-59 threads 2\n"
    "numa 2 socket 0 cpus 12-17,60-65 threads 2\n"
    "numa 3 socket 0 cpus 18-23,66-71 threads 2\n"
    "numa 4 socket 1 cpus 24-29,72-77 threads 2\n"
    "numa 5 socket 1 cpus 30-35,78-83 threads 2\n"
    "numa 6 socket 1 cpus 36-41,84-89 threads 2\n"
    "numa 7 socket 1 cpus 42-47,90-95 threads 2\n"
    "gpu 0000:03:00.0 numa 3 at r3/s\n"
    "gpu 0000:44:00.0 numa 1 at r1/s\n"
    "gpu 0000:84:00.0 numa 7 at r7/s\n"
    "gpu 0000:c4:00.0 numa 5 at r5/s\n"
    "nic mlx5_0 0000:43:00.0 infiniband numa 1 at r1/s\n"
    "nic mlx5_1 0000:04:00.0 infiniband numa 3 at r3/s\n"
    "nic mlx5_2 0000:c3:00.0 infiniband numa 5 at r5/s\n"
    "nic mlx5_3 0000:83:00.0 infiniband numa 7 at r7/s\n"
    "all nvlink 4\n";

static const char perlmutter[] =
    "vendor nvidia\n"
    "numa 0 socket 0 cpus 0-15,64-79 threads 2\n"
    "numa 1 socket 0 cpus 16-31,80-95 threads 2\n"
    "numa 2 socket 0 cpus 32-47,96-111 threads 2\n"
    "numa 3 socket 0 cpus 48-63,112-127 threads 2\n"
    "gpu 0000:03:00.0 numa 3\n"
    "gpu 0000:41:00.0 numa 2\n"
    "gpu 0000:82:00.0 numa 1\n"
    "gpu 0000:c1:00.0 numa 0\n"
    "nic hsn0 - slingshot numa 0\n"
    "nic hsn1 - slingshot numa 1\n"
    "nic hsn2 - slingshot numa 2\n"
    "nic hsn3 - slingshot numa 3\n"
    "all nvlink 4\n";

/* NUMA nodes 0 and 8; the last core of each socket is the system's. */
static const char summit[] =
    "vendor nvidia\n"
    "numa 0 socket 0 cpus 0-83 threads 4\n"
    "numa 8 socket 8 cpus 88-171 threads 4\n"
    "gpu 0004:04:00.0 numa 0 at r4/s\n"
    "gpu 0004:05:00.0 numa 0 at r4/s\n"
    "gpu 0004:06:00.0 numa 0 at r4/s\n"
    "gpu 0035:03:00.0 numa 8 at r35/s\n"
    "gpu 0035:04:00.0 numa 8 at r35/s\n"
    "gpu 0035:05:00.0 numa 8 at r35/s\n"
    "nic mlx5_0 0003:01:00.0 infiniband numa 0\n"
    "nic mlx5_1 0003:01:00.1 infiniband numa 0\n"
    "nic mlx5_2 0033:01:00.0 infiniband numa 8\n"
    "nic mlx5_3 0033:01:00.1 infiniband numa 8\n"
    "link 0 1 nvlink 2\nlink 0 2 nvlink 2\nlink 1 2 nvlink 2\n"
    "link 3 4 nvlink 2\nlink 3 5 nvlink 2\nlink 4 5 nvlink 2\n";

static const char pcie8[] =
    "vendor nvidia\n"
    "numa 0 socket 0 cpus 0-23,48-71 threads 2\n"
    "numa 1 socket 1 cpus 24-47,72-95 threads 2\n"
    "gpu - numa 0 at r0/s\ngpu - numa 0 at r0/s\ngpu - numa 0 at r1/s\ngpu - numa 0 at r1/s\n"
    "gpu - numa 1 at r2/s\ngpu - numa 1 at r2/s\ngpu - numa 1 at r3/s\ngpu - numa 1 at r3/s\n";

/* 3 + 5 GPUs; bridges join 0-5, 1-2, 3-4 and 6-7, one pair across the sockets. */
static const char pcie8_bridged[] =
    "vendor nvidia\n"
    "numa 0 socket 0 cpus 0-31,64-95 threads 2\n"
    "numa 1 socket 1 cpus 32-63,96-127 threads 2\n"
    "gpu - numa 0\ngpu - numa 0\ngpu - numa 0\n"
    "gpu - numa 1\ngpu - numa 1\ngpu - numa 1\ngpu - numa 1\ngpu - numa 1\n"
    "link 0 5 nvlink 12\nlink 1 2 nvlink 12\nlink 3 4 nvlink 12\nlink 6 7 nvlink 12\n";

const struct dt_import_machine dt_machine_facts[DT_MACHINE_FACTS_COUNT] = {
    {"dgx-a100", "8 A100, NVSwitch, 8 InfiniBand NICs and 4 for storage, 8 NUMA nodes"},
    {"dgx-h100", "8 H100, NVSwitch, 8 InfiniBand NICs and 4 for storage, 2 sockets"},
    {"dgx-1v", "8 V100 in a hybrid cube mesh, 4 InfiniBand NICs, 2 sockets"},
    {"dgx-2", "16 V100, NVSwitch, 8 InfiniBand NICs, 2 sockets"},
    {"mi250x", "4 MI250X (8 dies), 4 Slingshot NICs, as in Frontier and LUMI-G"},
    {"mi300x", "8 MI300X in a full mesh, 8 NICs, 2 sockets"},
    {"mi300a", "4 MI300A, 4 Slingshot NICs, as in El Capitan"},
    {"p4d", "AWS p4d.24xlarge: 8 A100, NVSwitch, 4 EFA NICs"},
    {"ndv4", "Azure NDv4: 8 A100, NVSwitch, 8 InfiniBand NICs, 4 NUMA nodes"},
    {"gh200", "4 GH200, 4 Slingshot NICs, GPU memory as NUMA nodes"},
    {"juwels-booster", "4 A100, 4 InfiniBand NICs, 8 NUMA nodes"},
    {"perlmutter", "4 A100, 4 Slingshot NICs, 4 NUMA nodes in reversed order"},
    {"summit", "6 V100 at 2 POWER9, NUMA nodes 0 and 8"},
    {"pcie8", "8 GPUs, two a PCIe switch, no links, 2 sockets"},
    {"pcie8-bridged", "8 GPUs, NVLink bridges 0-5, 1-2, 3-4, 6-7, 3 + 5 a socket"},
};

const char *const dt_machine_texts[DT_MACHINE_FACTS_COUNT] = {
    dgx_a100, dgx_h100, dgx_1v, dgx_2, mi250x, mi300x, mi300a, p4d,
    ndv4, gh200, juwels_booster, perlmutter, summit, pcie8, pcie8_bridged,
};
