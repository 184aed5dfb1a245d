#!/bin/bash
# What makes CUDA's kernels C++ for the CPU: it converts what it knows, and refuses all else.
set -u
: "${DT_SRCDIR:?}" "${DT_BUILDDIR:?}"
# shellcheck source=tests/tap.sh
. "$DT_SRCDIR/tests/tap.sh"

# convert SOURCE: what becomes of it, without the first line, which names it.
convert() {
  printf '%b' "$1" | "${AM_TAP_AWK:-awk}" -v label=k.cu -f "$DT_SRCDIR/tests/fake/cuda/convert.awk" 2>&1 | sed '/^#line/d'
}

site='__FILE__, __LINE__}'
while IFS='|' read -r name source expected; do
  t_is "$name" "$(convert "$source")" "$(printf '%b' "$expected")"
done <<END
plain C++|int f(int x)\n{ return x << 3; }|int f(int x)\n{ return x << 3; }
a launch|k<<<1, 2>>>(a, b);|emulate_launch({"k", $site, {1, 2}, [](auto... a) { k(a...); }, a, b);
a launch without arguments|k<<<g(1, 2), 2, 0, s>>>();|emulate_launch({"k", $site, {g(1, 2), 2, 0, s}, [](auto... a) { k(a...); });
a launch with template arguments|if (x) k<A, m<B>> <<<1, 2>>>(a);|if (x) emulate_launch( {"k<A, m<B>>", $site, {1, 2}, [](auto... a) { k<A, m<B>>(a...); }, a);
a launch over lines|k<T>\n  <<<1, 2>>>(\n  a);|emulate_launch(\n  {"k<T>", $site, {1, 2}, [](auto... a) { k<T>(a...); }, \n  a);
shared memory|__shared__ m<A, B> x[W][2], y;|static char x_key; auto &x = emulate_shared<m<A, B>[W][2]>("x", &x_key); static char y_key; auto &y = emulate_shared<m<A, B>>("y", &y_key);
comments and literals|/* k<<< */ f("__shared__ \\\\"<<<", '"'); // <<<\n|/* k<<< */ f("__shared__ \\\\"<<<", '"'); // <<<\n
END

while IFS='|' read -r name source expected; do
  t_is "refused: $name" "$(convert "$source")" "k.cu:$expected"
done <<'END'
a launch of no name|\nf()<<<1, 2>>>(a);|2: <<< does not follow the name of a kernel
a launch that never ends|k<<<1, 2;|1: <<< without >>>
a launch without arguments' bracket|k<<<1, 2>>>;|1: no ( follows >>>
a bracket that never closes|\n\nk<<<1, 2>>>(a;|3: a bracket that is never closed
too few parts|k<<<1>>>(a);|1: a launch takes a grid, a block, and perhaps shared memory and a stream
too many parts|k<<<1, 2, 3, 4, 5>>>(a);|1: a launch takes a grid, a block, and perhaps shared memory and a stream
a comment in a launch|k<<<1, 2>>>(a /* ) */);|1: a launch with a comment, a text or a launch inside
shared memory of the launch|extern __shared__ int x[];|1: shared memory whose size the launch gives is not emulated
shared memory with a value|__shared__ int x = 1;|1: a declaration of shared memory that is not `__shared__ T x[N], y;`
a pointer to shared memory|__shared__ int *x;|1: a declaration of shared memory that is not `__shared__ T x[N], y;`
shared memory without a type|__shared__ x;|1: shared memory without a type
a comment that never ends|f(); /* k|1: /* is never closed
a text that never ends|f("k|1: " is never closed
END

if [ ! -e "$DT_BUILDDIR/tests/cuda/emulate_test" ]; then
  t_skip "kernels on the CPU" "this build has none: configure says why"
fi
t_done
