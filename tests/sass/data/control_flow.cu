// Small kernels of each kind of instruction and control flow, the fixtures of the SASS reader.
#include <cuda_fp16.h>
#include <mma.h>

extern "C" __global__ void axpy(const float *__restrict__ x, float *__restrict__ y, float a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float v = x[i];
    if (v > 0.f) y[i] = a * v + y[i];
  }
}

extern "C" __global__ void __launch_bounds__(256) product(const float *a, const float *b, float *c, int n) {
  __shared__ float as[16][16], bs[16][16];
  float sum = 0;
  for (int j = 0; j < 2; ++j) {
#pragma unroll 1
    for (int k = 0; k < n; k += 16) {
      as[threadIdx.y][threadIdx.x] = a[(blockIdx.y * 16 + threadIdx.y) * n + k + threadIdx.x];
      bs[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + blockIdx.x * 16 + threadIdx.x + j];
      __syncthreads();
#pragma unroll 4
      for (int i = 0; i < 16; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
      __syncthreads();
    }
    c[(blockIdx.y * 16 + threadIdx.y) * n + blockIdx.x * 16 + threadIdx.x] = sum;
  }
}

extern "C" __global__ void matrix(const half *a, const half *b, float *c, int n) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> x;
  fragment<matrix_b, 16, 16, 16, half, col_major> y;
  fragment<accumulator, 16, 16, 16, float> z;
  fill_fragment(z, 0.f);
  for (int k = 0; k < n; k += 16) {
    load_matrix_sync(x, a + k, n);
    load_matrix_sync(y, b + k, n);
    mma_sync(z, x, y, z);
  }
  store_matrix_sync(c, z, 16, mem_row_major);
}

extern "C" __global__ void local_array(const float *x, float *y, int n) {
  float v[32];
  for (int i = 0; i < 32; ++i) v[i] = x[i * n];
  for (int i = 0; i < n; ++i) v[(i * 7 + threadIdx.x) % 32] += x[i];
  float s = 0;
  for (int i = 0; i < 32; ++i) s += v[i] * v[(i + n) % 32];
  y[threadIdx.x] = s;
}

__device__ __noinline__ double quotient(double a, double b) { return a / b; }

extern "C" __global__ void functions(float *x, double *d, int *h, int n) {
  int i = threadIdx.x;
  x[i] = sinf(x[i]) + rsqrtf(x[i]) + expf(x[i]);
  d[i] = quotient(d[i], d[i + n]);
  float v = x[i];
  for (int o = 16; o; o /= 2) v += __shfl_xor_sync(~0u, v, o);
  if (__any_sync(~0u, v > 3.f)) atomicAdd(h + (i & 7), __popc(i) + __ffs(i) + __clz(n));
  switch (n & 7) {
    case 0: x[i + 1] = 1.f; break;
    case 1: x[i + 3] = v / 3.f; break;
    case 2: h[i] = n / i; break;
    case 3: h[i + 3] = h[i] % 10; break;
    case 4: x[i + 5] = (float)(int)v + (float)(long long)d[i]; break;
    default: h[2 * i] = __dp4a(h[i], n, i);
  }
  *(float4 *)(x + 4 * i + 64) = *(const float4 *)(x + 4 * i);
  __threadfence();
}
