// The work of the SIMT benchmark in CUDA C++: the same blocks, the same shared memory.

extern "C" __global__ void __launch_bounds__(256)
threshold_scale(float* out, const float* x, int n, float threshold, float scale) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] >= threshold ? x[i] * scale : 0.0f;
}

extern "C" __global__ void __launch_bounds__(256)
block_sums(float* out, const float* __restrict__ x, int n) {
    __shared__ float of_warps[8];
    float total = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        total += x[i];
    for (int bits = 16; bits > 0; bits /= 2) total += __shfl_xor_sync(0xffffffffu, total, bits);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; ++w) total += of_warps[w];
        out[blockIdx.x] = total;
    }
}

extern "C" __global__ void __launch_bounds__(256)
histogram(int* counts, const int* __restrict__ x, int n) {
    __shared__ int bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[x[i] & 255], 1);
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
}

extern "C" __global__ void __launch_bounds__(256)
gemm(float* __restrict__ c, const float* __restrict__ a, const float* __restrict__ b, int m, int n,
     int k) {
    __shared__ float of_a[16][64], of_b[16][64];
    int x = threadIdx.x, y = threadIdx.y, t = y * 16 + x;
    int top = blockIdx.y * 64, left = blockIdx.x * 64;
    float sums[4][4] = {};
    for (int start = 0; start < k; start += 16) {
#pragma unroll
        for (int copy = 0; copy < 4; ++copy) {
            int at = copy * 256 + t;
            int row = top + at / 16, column = start + at % 16;
            of_a[at % 16][at / 16] = row < m && column < k ? a[row * k + column] : 0.0f;
            row = start + at / 64, column = left + at % 64;
            of_b[at / 64][at % 64] = row < k && column < n ? b[row * n + column] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int depth = 0; depth < 16; ++depth)
#pragma unroll
            for (int r = 0; r < 4; ++r)
#pragma unroll
                for (int s = 0; s < 4; ++s)
                    sums[r][s] += of_a[depth][y * 4 + r] * of_b[depth][x * 4 + s];
        __syncthreads();
    }
    for (int r = 0; r < 4; ++r)
        for (int s = 0; s < 4; ++s) {
            int row = top + y * 4 + r, column = left + x * 4 + s;
            if (row < m && column < n) c[row * n + column] = sums[r][s];
        }
}
