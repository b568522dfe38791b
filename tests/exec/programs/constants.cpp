// Compiles where the constants of csrc/exec are those of cuBLAS.
#include <cublas_v2.h>

#include "exec/cublas_types.hpp"

namespace own = ozfp4::exec::cublas;
static_assert(own::op_n == CUBLAS_OP_N && own::op_t == CUBLAS_OP_T && own::op_c == CUBLAS_OP_C);
static_assert(own::pointers_to_host == CUBLAS_POINTER_MODE_HOST && own::success == CUBLAS_STATUS_SUCCESS);
static_assert(own::real_32 == CUDA_R_32F && own::real_64 == CUDA_R_64F);
static_assert(own::complex_32 == CUDA_C_32F && own::complex_64 == CUDA_C_64F);
static_assert(own::compute_32 == CUBLAS_COMPUTE_32F && own::compute_64 == CUBLAS_COMPUTE_64F);
static_assert(own::compute_32_pedantic == CUBLAS_COMPUTE_32F_PEDANTIC && own::compute_64_pedantic == CUBLAS_COMPUTE_64F_PEDANTIC);
static_assert(CUBLAS_VERSION / 10000 == 13);
