#include <cstdio>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
extern "C" __global__ void conversions(double *d, long long *l, float *f, int *h, __half *s, unsigned char *c, __nv_bfloat16 *b) {
  int i = threadIdx.x;
  d[i] = (double)l[i] + (double)f[i] + (double)h[i];
  l[i + 99] = (long long)d[i + 3] + (long long)f[i + 2];
  h[i + 100] = (int)d[i + 9] + (unsigned)f[i + 88];
  f[i + 7] = (float)d[i + 8] + (float)l[i + 9] + floorf(f[i + 55]) + (float)floor(d[i + 12]);
  s[i] = __float2half(f[i + 3]); f[i + 1000] = __half2float(s[i + 9]); s[i + 30] = __hfma(s[i + 3], s[i + 4], s[i + 5]);
  ((__half2 *)s)[i + 60] = __hfma2(((__half2 *)s)[i + 3], ((__half2 *)s)[i + 4], ((__half2 *)s)[i + 7]);
  ((__half2 *)s)[i + 80] = __hmax2(((__half2 *)s)[i + 3], ((__half2 *)s)[i + 4]);
  c[i] = (unsigned char)h[i] + c[i + 3]; ((short *)c)[i + 60] = (short)f[i + 77] + ((short *)c)[i + 9];
  b[i] = __float2bfloat16(f[i] * 3.f); f[i + 200] += __bfloat162float(b[i + 3]);
  d[i + 30] = sqrt(d[i + 40]) * fmin(d[i], d[i + 1]);
  f[i + 300] = tanhf(f[i]) + __log2f(f[i + 1]) + __powf(f[i], 3.f) + fminf(f[i], fmaxf(f[i + 2], f[i + 3]));
  f[i + 400] = sqrtf(f[i + 4]);
}
extern "C" __global__ void atomics(unsigned long long *u, double *d, float *f, int *h, __half2 *s) {
  __shared__ int x[64]; __shared__ unsigned long long y[64];
  int i = threadIdx.x; x[i & 63] = i; y[i & 63] = u[i]; __syncthreads();
  atomicAdd(f, 1.f); atomicAdd(d, 1.); atomicAdd(u, 3ull); u[9 + i] = atomicAdd(u + 1, 5ull); atomicAdd(s, s[i + 4]);
  u[i + 3] = atomicCAS(u + 3, 4ull, u[i]); h[i + 3] = atomicCAS(h + 3, 4, h[i]); h[i] = atomicExch(h, 3);
  h[i + 9] = atomicAdd(x + 3, 4); h[i + 19] = atomicCAS(x + 9, 4, i); u[i + 90] = atomicCAS(y + 9, 4ull, u[i + 2]); u[i + 77] = atomicMax(y + 3, u[i + 5]);
  h[i + 33] = atomicMin(h + 77, i); atomicOr(h + 99, 7); atomicMax((int*)x, h[i+9]);
#if __CUDA_ARCH__ >= 800
  h[i + 5] = __reduce_add_sync(~0u, h[i + 4]); h[i + 44] = __reduce_max_sync(~0u, h[i + 43]); 
#endif
  h[i + 50] = __match_any_sync(~0u, h[i + 51]); h[i+52] = __ballot_sync(~0u, h[i + 53] > 4); h[i + 54] = __activemask();
  if (__syncthreads_or(h[i + 60])) h[i + 61] = clock(); u[i + 100] = clock64(); h[i+62] = __shfl_down_sync(~0u, h[i+63], 3);
  asm volatile("bar.sync 1, 64;"); asm volatile("bar.arrive 2, 64;"); __nanosleep(100); __syncwarp(); 
  h[i + 64] = __byte_perm(h[i + 65], h[i + 66], 0x3210) + __funnelshift_l(h[i + 67], h[i + 68], h[i + 69]) + __vabsdiffu4(h[i], h[i + 1]) + abs(h[i + 70]) + __mulhi(h[i + 71], h[i + 72]) + __sad(h[i], h[i + 1], h[i + 2]);
  u[i + 104] = u[i + 105] * u[i + 106] + (u[i + 107] >> (h[i] & 63)) + __umul64hi(u[i], u[i+1]); u[i + 108] = u[i + 109] / u[i + 110]; 
  asm volatile("prefetch.global.L2 [%0];" :: "l"(u)); __threadfence_system(); printf("%d", h[i]);
}
extern "C" __global__ void wide(float *a, double *d, __half *s, int *h, unsigned *m, float *o) {
  int i = threadIdx.x; unsigned r0, r1, r2, r3; extern __shared__ char sm[]; unsigned p = (unsigned)__cvta_generic_to_shared(sm) + 16 * i;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r0) : "r"(p)); m[i] = r0;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(r0), "=r"(r1) : "r"(p)); m[i + 1] = r0 + r1;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(p)); m[i + 2] = r0 + r1 + r2 + r3;
#if __CUDA_ARCH__ >= 800
  float x[4] = {a[i], a[i + 1], a[i + 2], a[i + 3]}; int z[4] = {h[0], h[1], h[2], h[3]}; unsigned q[2] = {m[5], m[6]};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]) : "r"(r0), "r"(r1), "r"(r2), "r"(r3), "r"(m[0]), "r"(m[1]));
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]) : "r"(r0), "r"(r1), "r"(r2), "r"(r3), "r"(m[0]), "r"(m[1]));
  asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]) : "r"(r0), "r"(r1), "r"(m[0]));
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+r"(z[0]), "+r"(z[1]), "+r"(z[2]), "+r"(z[3]) : "r"(r0), "r"(r1), "r"(r2), "r"(r3), "r"(m[0]), "r"(m[1]));
  asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};" : "+r"(z[0]), "+r"(z[1]), "+r"(z[2]), "+r"(z[3]) : "r"(r0), "r"(r1), "r"(m[0]));
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};" : "+r"(q[0]), "+r"(q[1]) : "r"(r0), "r"(r1), "r"(r2), "r"(r3), "r"(m[0]), "r"(m[1]));
  double e[2] = {d[1], d[2]};
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(e[0]), "+d"(e[1]) : "d"(d[i]), "d"(d[i + 1]));
  d[i + 1] = e[0]; d[i + 2] = e[1]; o[i] = x[0]; o[i + 9] = x[1]; o[i + 19] = x[2]; o[i + 29] = x[3]; h[i] = z[0] + z[1] + z[2] + z[3]; m[i + 8] = q[0] + q[1];
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(p), "l"(a)); asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(p), "l"(a), "r"(h[i])); asm volatile("cp.async.commit_group;"); asm volatile("cp.async.wait_group 0;"); __syncthreads();
#endif
#if __CUDA_ARCH__ >= 890
  asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]) : "r"(r0), "r"(r1), "r"(r2), "r"(r3), "r"(m[0]), "r"(m[1]));
  o[i + 59] = x[0] + x[1] + x[2] + x[3]; ((__nv_fp8_e4m3 *)o)[i + 9999] = __nv_fp8_e4m3(a[i + 9]); o[i + 500] = (float)((__nv_fp8_e4m3 *)a)[i + 222];
#endif
#if __CUDA_ARCH__ >= 900
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" :: "r"(p), "r"(r0), "r"(r1), "r"(r2), "r"(r3));
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(p), "l"(a), "r"(h[7]), "r"(p + 64));
  asm volatile("barrier.cluster.arrive.aligned;"); asm volatile("barrier.cluster.wait.aligned;");
#endif
#if __CUDA_ARCH__ >= 1000
  float v[8]; asm volatile("ld.global.v8.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];" : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]), "=f"(v[4]), "=f"(v[5]), "=f"(v[6]), "=f"(v[7]) : "l"(a + 8 * i));
  asm volatile("st.global.v8.f32 [%8], {%0,%1,%2,%3,%4,%5,%6,%7};" :: "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]), "f"(v[4]), "f"(v[5]), "f"(v[6]), "f"(v[7]), "l"(o + 8 * i));
#endif
#if defined(__CUDA_ARCH_FEAT_SM100_ALL)
  unsigned t[8]; unsigned ta = h[9];
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" :: "r"(p));
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];" : "=r"(t[0]), "=r"(t[1]), "=r"(t[2]), "=r"(t[3]), "=r"(t[4]), "=r"(t[5]), "=r"(t[6]), "=r"(t[7]) : "r"(ta));
  asm volatile("tcgen05.wait::ld.sync.aligned;"); for (int j = 0; j < 8; ++j) m[i + 50 + j] = t[j];
  asm volatile("tcgen05.st.sync.aligned.32x32b.x4.b32 [%0], {%1,%2,%3,%4};" :: "r"(ta), "r"(r0), "r"(r1), "r"(r2), "r"(r3));
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; }" :: "r"(ta), "l"((long long)p), "l"((long long)h[3]), "r"(h[4]), "r"(h[5]));
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" :: "r"(p + 8));
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" :: "r"(ta));
#endif
}
