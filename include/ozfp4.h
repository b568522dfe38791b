/* ozfp4: FP64 matrix products with guaranteed accuracy and reproducible bits, for C, C++ and Fortran.
 *
 *   double alpha = 1, beta = 0;
 *   ozfp4_status status = ozfp4_dgemm(OZFP4_COL_MAJOR, OZFP4_NO_TRANS, OZFP4_TRANS, m, n, k, alpha, a, lda, b, ldb, beta,
 *                                     c, ldc, NULL);
 *   if (status != OZFP4_OK) fprintf(stderr, "%s\n", ozfp4_last_error());
 *
 * Arguments are those of CBLAS; order and transposes have its values. Extents, leading dimensions and strides are 64-bit and
 * count entries. ozfp4_options has the rest; NULL, or all zeros after `size`, is the default of ozfp4.matmul in Python. The
 * default accuracy is "standard": each entry is within the error bound of a chain of fused multiply-adds in its own precision.
 * The bits are those of Python.
 *
 * If beta is 0, C is not read. If alpha is 0, neither A nor B is read. alpha and beta are finite. C may not overlap A or B;
 * several threads may read the same operands. The calling thread's floating-point mode (rounding, subnormal numbers flushed
 * to 0, traps) changes no bit and is left unchanged.
 *
 * A function that can fail returns a status, and ozfp4_last_error returns its text for this thread, which begins with the
 * name of the wrong argument. Nothing is then written, unless memory ends within a batch or a product in blocks. No exception
 * leaves the library, and it never ends the process.
 *
 * Small products are computed in machine words, or by 8-bit limbs on AMX. Others use the INT8 unit of the CPU, or floating
 * point without one. Each kernel is tested on exact integers before its first use.
 *
 * Structures begin with `size`, their sizeof when the program was compiled. Later versions add members at the end, and read
 * those that a structure does not have as 0.
 */
#ifndef OZFP4_H
#define OZFP4_H

#include <stddef.h>
#include <stdint.h>

#define OZFP4_VERSION_MAJOR 0
#define OZFP4_VERSION_MINOR 1
#define OZFP4_VERSION_PATCH 0
#define OZFP4_VERSION (OZFP4_VERSION_MAJOR * 10000 + OZFP4_VERSION_MINOR * 100 + OZFP4_VERSION_PATCH)

#if defined(__GNUC__)
#define OZFP4_API __attribute__((visibility("default")))
#else
#define OZFP4_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Statuses -------------------------------------------------------------------------------------------------------- */

typedef enum ozfp4_status {
  OZFP4_OK = 0,
  OZFP4_INVALID_ARGUMENT = 1, /* an argument is invalid, or two contradict each other */
  OZFP4_UNSUPPORTED = 2,      /* no plan is exact for the inner dimension, or this interface lacks it */
  OZFP4_OUT_OF_MEMORY = 3,    /* the system, or the device, lacks memory */
  OZFP4_WORKSPACE = 4,        /* the workspace is too small for the smallest blocks */
  OZFP4_OVERFLOW = 5,         /* with OZFP4_OVERFLOW_ERROR: an entry does not fit the integer type */
  OZFP4_NO_DEVICE = 6,        /* a build without CUDA, no GPU, or none of the kernels of this build runs on it */
  OZFP4_DEVICE_ERROR = 7,     /* an error of the CUDA runtime */
  OZFP4_INTERNAL = 8          /* a fault of this library */
} ozfp4_status;

/* The name of a status, e.g. "OZFP4_WORKSPACE". */
OZFP4_API const char* ozfp4_status_name(ozfp4_status status);
/* The message of this thread's last call that failed, valid until the next one fails; "" before. */
OZFP4_API const char* ozfp4_last_error(void);

/* ---- The library ----------------------------------------------------------------------------------------------------- */

/* OZFP4_VERSION of the library that runs, as a number and as "0.1.0". A program runs with every later library of the same major
 * number. */
OZFP4_API int ozfp4_version(void);
OZFP4_API const char* ozfp4_version_string(void);

/* Reads the environment again: OZFP4_NUM_THREADS, OMP_NUM_THREADS, OZFP4_CPU_KERNEL, and for the self-test OZFP4_CACHE_DIR,
 * OZFP4_SELFTEST, OZFP4_SELFTEST_SECONDS; also the figures that `ozfp4 calibrate` has kept. The library reads them when it is
 * loaded, and not again by itself. Do not call it while another thread changes the environment. */
OZFP4_API ozfp4_status ozfp4_read_environment(void);
/* Sets or gets the number of threads of products on the CPU. The default is OZFP4_NUM_THREADS, OMP_NUM_THREADS, or all CPUs of
 * the process; a count of 0 restores it. */
OZFP4_API ozfp4_status ozfp4_set_num_threads(int count);
OZFP4_API ozfp4_status ozfp4_get_num_threads(int* count);

/* 1 if this build has kernels for GPUs, else 0. */
OZFP4_API int ozfp4_has_cuda(void);

/* ---- Options --------------------------------------------------------------------------------------------------------- */

/* Values of CBLAS. */
typedef enum ozfp4_order { OZFP4_ROW_MAJOR = 101, OZFP4_COL_MAJOR = 102 } ozfp4_order;
typedef enum ozfp4_transpose { OZFP4_NO_TRANS = 111, OZFP4_TRANS = 112, OZFP4_CONJ_TRANS = 113 } ozfp4_transpose;

typedef enum ozfp4_side { OZFP4_LEFT = 141, OZFP4_RIGHT = 142 } ozfp4_side;

typedef enum ozfp4_type {
  OZFP4_FLOAT64 = 1,
  OZFP4_FLOAT32 = 2,
  OZFP4_COMPLEX128 = 3,
  OZFP4_COMPLEX64 = 4,
  OZFP4_INT8 = 5,
  OZFP4_INT16 = 6,
  OZFP4_INT32 = 7,
  OZFP4_INT64 = 8,
  OZFP4_UINT8 = 9,
  OZFP4_UINT16 = 10,
  OZFP4_UINT32 = 11,
  OZFP4_UINT64 = 12
} ozfp4_type;

enum {                              /* accuracy */
       OZFP4_ACCURACY_DEFAULT = 0,  /* standard, or that of a prepared operand */
       OZFP4_ACCURACY_SCALED = 1,   /* the exact product of rows and columns rounded to `bits` bits */
       OZFP4_ACCURACY_STANDARD = 2, /* |C - AB| <= (n - 1) u (|A| |B|) + ulp(C) / 2 for every entry, n the fewer nonzero entries
                                     * of row and column: the bound of a chain of fused multiply-adds */
       OZFP4_ACCURACY_CORRECT = 3   /* correctly rounded */
};
enum { OZFP4_ROUND_NEAREST = 0, OZFP4_ROUND_DOWN = 1, OZFP4_ROUND_UP = 2, OZFP4_ROUND_ZERO = 3 };
enum { OZFP4_SCHEME_DEFAULT = 0, OZFP4_SCHEME_I = 1, OZFP4_SCHEME_II = 2 };
enum { OZFP4_BACKEND_AUTO = 0, OZFP4_BACKEND_FP4 = 1, OZFP4_BACKEND_INT8 = 2, OZFP4_BACKEND_FP64 = 3 };
enum { OZFP4_FAMILY_LEAST = 0, OZFP4_FAMILY_PAPER = 1, OZFP4_FAMILY_PAPER_KARATSUBA = 2 };
enum { OZFP4_OVERFLOW_WRAP = 0, OZFP4_OVERFLOW_ERROR = 1 };

typedef struct ozfp4_plan ozfp4_plan;
typedef struct ozfp4_prepared ozfp4_prepared;
typedef struct ozfp4_cuda_prepared ozfp4_cuda_prepared;

/* What ran. If matrices of a stack, or blocks, were computed in different ways, backend to moduli_used describe those by
 * planes. */
typedef struct ozfp4_report {
  size_t size;
  int32_t backend;                       /* OZFP4_BACKEND_FP4, _INT8 or _FP64; 0: words, 8-bit limbs on AMX, or nothing */
  int32_t scheme;                        /* OZFP4_SCHEME_I or _II; 0 likewise */
  int32_t bits;                          /* capacity of the plan, or width of the words */
  int32_t products;                      /* the most plane products of a matrix */
  int32_t moduli_used;                   /* 0 for scheme I */
  int32_t reserved;                      /* 0 */
  int64_t workspace;                     /* bytes in addition to operands and result */
  int64_t repaired;                      /* entries without a certificate, recomputed from row and column */
  int64_t special_rows, special_columns; /* with NaN or infinity */
  int64_t overflows;                     /* of integers: entries that wrapped, with OZFP4_OVERFLOW_ERROR or a report */
  double largest_bound;                  /* with options.bound */
  double seconds_scale, seconds_encode, seconds_multiply, seconds_reconstruct, seconds_repair;
} ozfp4_report;

typedef struct ozfp4_options {
  size_t size;
  int32_t accuracy, rounding;      /* rounding other than to nearest needs OZFP4_ACCURACY_CORRECT */
  int32_t scheme, backend, family; /* a family other than OZFP4_FAMILY_LEAST needs OZFP4_ACCURACY_SCALED */
  int32_t bits;                    /* capacity of OZFP4_ACCURACY_SCALED, 2 to 200; 0: 53, or 24 of single precision */
  int32_t overflow;                /* of integers */
  int32_t reserved;                /* 0 */
  int64_t workspace_limit;         /* bytes in addition to operands and result; the CPU allocates and frees them. 0: 2^30, on a */
                                   /* GPU the less of 2^33 and a quarter of its memory, but enough for the smallest blocks */
  const ozfp4_plan* plan; /* instead of scheme, backend, family, bits; has the bits that the accuracy needs; NULL: cheapest */
  double* bound;          /* receives bounds of |C - exact| in the order of C; pairs for complex C; NULL: none */
  int64_t ld_bound;       /* leading dimension of bound; 0: without a gap */
  int64_t stride_bound;   /* its stride between matrices; 0: without a gap */
  ozfp4_report* report;   /* NULL: no report */
  /* For ozfp4_cuda_?gemm, its batches, ozfp4_cuda_gemm_prepared and ozfp4_cuda_?gram, which return before these are known: */
  /* In memory that the device can write: receives the number of entries without a certificate. Exact zeros are among them, and a
   * complex entry counts as two. NULL: not counted. */
  int64_t* repaired;
  /* Likewise for integers on a GPU: receives the number of entries that do not fit the type of C and wrap. For alpha = 1 and
   * beta = 0, and not modulo a number. NULL: not counted. */
  int64_t* overflows;
} ozfp4_options;

#define OZFP4_OPTIONS_INIT {sizeof(ozfp4_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, 0, 0, NULL, NULL, NULL}

/* ---- C = alpha op(A) op(B) + beta C ---------------------------------------------------------------------------------- */

/* Sets C to alpha op(A) op(B) + beta C, rounded once. op(A) is m x k, op(B) is k x n, C is m x n.
 *
 * Complex matrices are (re, im) pairs: double complex of C, std::complex<double>, complex(c_double_complex); alpha and beta
 * point to such pairs. If a complex alpha or beta has a real and an imaginary part, A B is rounded first, and then
 * alpha (A B) + beta C once more, to nearest. OZFP4_ACCURACY_CORRECT keeps A B as the sum of two numbers, within u^2 of it. */
OZFP4_API ozfp4_status ozfp4_dgemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, double alpha,
                                   const double* a, int64_t lda, const double* b, int64_t ldb, double beta, double* c,
                                   int64_t ldc, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_sgemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, float alpha,
                                   const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc,
                                   const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_zgemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, const void* alpha,
                                   const void* a, int64_t lda, const void* b, int64_t ldb, const void* beta, void* c, int64_t ldc,
                                   const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cgemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, const void* alpha,
                                   const void* a, int64_t lda, const void* b, int64_t ldb, const void* beta, void* c, int64_t ldc,
                                   const ozfp4_options* options);

/* The same for `batch` products. The matrices of an operand are `stride` entries apart; a stride of 0 of A or B repeats one
 * matrix. */
OZFP4_API ozfp4_status ozfp4_dgemm_strided_batched(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                   double alpha, const double* a, int64_t lda, int64_t stride_a, const double* b,
                                                   int64_t ldb, int64_t stride_b, double beta, double* c, int64_t ldc,
                                                   int64_t stride_c, int64_t batch, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_sgemm_strided_batched(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                   float alpha, const float* a, int64_t lda, int64_t stride_a, const float* b,
                                                   int64_t ldb, int64_t stride_b, float beta, float* c, int64_t ldc,
                                                   int64_t stride_c, int64_t batch, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_zgemm_strided_batched(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                   const void* alpha, const void* a, int64_t lda, int64_t stride_a, const void* b,
                                                   int64_t ldb, int64_t stride_b, const void* beta, void* c, int64_t ldc,
                                                   int64_t stride_c, int64_t batch, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cgemm_strided_batched(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                   const void* alpha, const void* a, int64_t lda, int64_t stride_a, const void* b,
                                                   int64_t ldb, int64_t stride_b, const void* beta, void* c, int64_t ldc,
                                                   int64_t stride_c, int64_t batch, const ozfp4_options* options);

/* ---- C = A A^T, or A^T A ----------------------------------------------------------------------------------------------- */

/* Sets all of C, n x n and exactly symmetric. With OZFP4_NO_TRANS A is n x k and C = A A^T; with OZFP4_TRANS A is k x n and
 * C = A^T A. Complex matrices take OZFP4_CONJ_TRANS instead of OZFP4_TRANS, and C is A A^H or A^H A, exactly Hermitian.
 * About half of the product is computed. */
OZFP4_API ozfp4_status ozfp4_dgram(int order, int trans, int64_t n, int64_t k, const double* a, int64_t lda, double* c,
                                   int64_t ldc, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_sgram(int order, int trans, int64_t n, int64_t k, const float* a, int64_t lda, float* c, int64_t ldc,
                                   const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_zgram(int order, int trans, int64_t n, int64_t k, const void* a, int64_t lda, void* c, int64_t ldc,
                                   const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cgram(int order, int trans, int64_t n, int64_t k, const void* a, int64_t lda, void* c, int64_t ldc,
                                   const ozfp4_options* options);

/* ---- Integers ----------------------------------------------------------------------------------------------------------- */

/* Sets C to alpha op(A) op(B) + beta C for integers, exact modulo 2^w for the w bits of the type of C. With
 * OZFP4_OVERFLOW_ERROR, which needs alpha = 1 and beta = 0, an entry that does not fit is an error and C is unchanged. Options
 * of bits and of rounding are refused. */
OZFP4_API ozfp4_status ozfp4_igemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int64_t alpha,
                                   ozfp4_type type_a, const void* a, int64_t lda, ozfp4_type type_b, const void* b, int64_t ldb,
                                   int64_t beta, ozfp4_type type_c, void* c, int64_t ldc, const ozfp4_options* options);
/* The same for fixed types. */
OZFP4_API ozfp4_status ozfp4_gemm_i8i8i32(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int32_t alpha,
                                          const int8_t* a, int64_t lda, const int8_t* b, int64_t ldb, int32_t beta, int32_t* c,
                                          int64_t ldc, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_gemm_i32i32i64(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int64_t alpha,
                                            const int32_t* a, int64_t lda, const int32_t* b, int64_t ldb, int64_t beta,
                                            int64_t* c, int64_t ldc, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_gemm_i64i64i64(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int64_t alpha,
                                            const int64_t* a, int64_t lda, const int64_t* b, int64_t ldb, int64_t beta,
                                            int64_t* c, int64_t ldc, const ozfp4_options* options);
/* Sets C to op(A) op(B) modulo `modulus`, 1 to 2^63 - 1, with every entry in [0, modulus). */
OZFP4_API ozfp4_status ozfp4_gemm_mod(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, ozfp4_type type_a,
                                      const void* a, int64_t lda, ozfp4_type type_b, const void* b, int64_t ldb, int64_t modulus,
                                      int64_t* c, int64_t ldc, const ozfp4_options* options);

/* ---- Operands that are prepared once ------------------------------------------------------------------------------------- */

/* Sets *prepared to op(X), rows x columns, scaled and encoded for any number of products on `side`. X is copied, and may change
 * afterwards. `type` is that of X and of the products. The options accuracy, scheme, backend, family, bits and plan
 * count. */
OZFP4_API ozfp4_status ozfp4_prepare(ozfp4_type type, ozfp4_side side, int order, int trans, int64_t rows, int64_t columns,
                                     const void* x, int64_t ldx, const ozfp4_options* options, ozfp4_prepared** prepared);
/* Frees it; NULL is allowed. No product may use it meanwhile. */
OZFP4_API void ozfp4_release(ozfp4_prepared* prepared);
/* Its size in bytes. */
OZFP4_API int64_t ozfp4_prepared_bytes(const ozfp4_prepared* prepared);
/* Sets C to alpha A B + beta C, with prepared_a as op(A), or prepared_b as op(B), or both. The other is NULL: then that operand
 * is read from memory; else its pointer, transpose and leading dimension are ignored. alpha and beta point to one entry of the
 * type; alpha is not imaginary if both operands are prepared. Options must agree with those of ozfp4_prepare; defaults agree. */
OZFP4_API ozfp4_status ozfp4_gemm_prepared(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, const void* alpha,
                                           const void* a, int64_t lda, const ozfp4_prepared* prepared_a, const void* b,
                                           int64_t ldb, const ozfp4_prepared* prepared_b, const void* beta, void* c, int64_t ldc,
                                           const ozfp4_options* options);

/* ---- Plans ----------------------------------------------------------------------------------------------------------------- */

typedef struct ozfp4_plan_info {
  size_t size;
  int32_t scheme, backend, family, bits;
  int32_t products, planes; /* plane products; planes of each operand */
  int32_t moduli;           /* how many; 0 for scheme I */
  int32_t is_complex;       /* 1: for two complex operands, k counts 2 for each entry */
  int64_t k_max;            /* longest inner dimension for which it is exact for all data */
} ozfp4_plan_info;

/* Sets *plan to the plan of a product of this floating-point type and inner dimension with these options. A small product may
 * run in machine words instead, with the same bits. A plan is immutable; any number of threads and products may use it. */
OZFP4_API ozfp4_status ozfp4_plan_create(ozfp4_type type, int64_t k, const ozfp4_options* options, ozfp4_plan** plan);
/* Frees it; NULL is allowed. No product may use it meanwhile. */
OZFP4_API void ozfp4_plan_destroy(ozfp4_plan* plan);
OZFP4_API ozfp4_status ozfp4_plan_describe(const ozfp4_plan* plan, ozfp4_plan_info* info);
/* Sets the first `count` moduli, in their order; ozfp4_plan_info.moduli is their number. */
OZFP4_API ozfp4_status ozfp4_plan_moduli(const ozfp4_plan* plan, int64_t* moduli, int32_t count);

/* ---- CUDA --------------------------------------------------------------------------------------------------------------------
 */

/* The functions above for matrices on the current device, enqueued on a stream (a cudaStream_t; NULL: the default one). A call
 * is asynchronous and allocates no memory. The first product by a kernel, or by a long schedule there, is an exception: it tests
 * the kernel on exact integers, and synchronises. `report` and OZFP4_BACKEND_FP64 are refused; bounds are on the device.
 *
 * `workspace`, aligned to 256 bytes, belongs to the product until the stream has passed it; NULL has 0 bytes. The function
 * ozfp4_cuda_workspace_size_... before each kind of product sets *bytes to its size, from the arguments of the call. It reads the
 * options and, on the host, the factors; of addresses it uses the value modulo 16, with 0 for NULL. Two calls need the same size
 * if their addresses are equal modulo 16, and their factors alike in being 0, 1, real, imaginary or neither.
 *
 * Run a call once before a CUDA graph captures it. First products, and functions that return a size, may test kernels; they then
 * allocate, on a separate stream, and do not disturb captures on other streams by any thread.
 * A build without CUDA has these functions, too: they check their arguments and return OZFP4_NO_DEVICE. */
/* `type` is that of the matrices; alpha and beta point to one entry of it. */
OZFP4_API ozfp4_status ozfp4_cuda_workspace_size_gemm(ozfp4_type type, int order, int transa, int transb, int64_t m, int64_t n,
                                                      int64_t k, const void* alpha, const void* a, int64_t lda, const void* b,
                                                      int64_t ldb, const void* beta, const void* c, int64_t ldc,
                                                      const ozfp4_options* options, int64_t* bytes);
OZFP4_API ozfp4_status ozfp4_cuda_dgemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, double alpha,
                                        const double* a, int64_t lda, const double* b, int64_t ldb, double beta, double* c,
                                        int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                        const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_sgemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, float alpha,
                                        const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c,
                                        int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                        const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_zgemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, const void* alpha,
                                        const void* a, int64_t lda, const void* b, int64_t ldb, const void* beta, void* c,
                                        int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                        const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_cgemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, const void* alpha,
                                        const void* a, int64_t lda, const void* b, int64_t ldb, const void* beta, void* c,
                                        int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                        const ozfp4_options* options);

/* As ozfp4_dgemm_strided_batched, in as few launches as one product; the matrices of C do not overlap. */
OZFP4_API ozfp4_status ozfp4_cuda_workspace_size_gemm_strided_batched(ozfp4_type type, int order, int transa, int transb,
                                                                      int64_t m, int64_t n, int64_t k, const void* alpha,
                                                                      const void* a, int64_t lda, int64_t stride_a, const void* b,
                                                                      int64_t ldb, int64_t stride_b, const void* beta,
                                                                      const void* c, int64_t ldc, int64_t stride_c, int64_t batch,
                                                                      const ozfp4_options* options, int64_t* bytes);
OZFP4_API ozfp4_status ozfp4_cuda_dgemm_strided_batched(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                        double alpha, const double* a, int64_t lda, int64_t stride_a,
                                                        const double* b, int64_t ldb, int64_t stride_b, double beta, double* c,
                                                        int64_t ldc, int64_t stride_c, int64_t batch, void* workspace,
                                                        int64_t workspace_bytes, void* stream, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_sgemm_strided_batched(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                        float alpha, const float* a, int64_t lda, int64_t stride_a,
                                                        const float* b, int64_t ldb, int64_t stride_b, float beta, float* c,
                                                        int64_t ldc, int64_t stride_c, int64_t batch, void* workspace,
                                                        int64_t workspace_bytes, void* stream, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_zgemm_strided_batched(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                        const void* alpha, const void* a, int64_t lda, int64_t stride_a,
                                                        const void* b, int64_t ldb, int64_t stride_b, const void* beta, void* c,
                                                        int64_t ldc, int64_t stride_c, int64_t batch, void* workspace,
                                                        int64_t workspace_bytes, void* stream, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_cgemm_strided_batched(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                        const void* alpha, const void* a, int64_t lda, int64_t stride_a,
                                                        const void* b, int64_t ldb, int64_t stride_b, const void* beta, void* c,
                                                        int64_t ldc, int64_t stride_c, int64_t batch, void* workspace,
                                                        int64_t workspace_bytes, void* stream, const ozfp4_options* options);

/* As ozfp4_dgram. From n = 6144 on only blocks on and above the diagonal are multiplied, else all of C; options.repaired counts
 * the entries that are multiplied. For a real A and options.workspace_limit = 0 the workspace holds all planes of A if the
 * default has room for them, else those of some lines at a time. */
OZFP4_API ozfp4_status ozfp4_cuda_workspace_size_gram(ozfp4_type type, int order, int trans, int64_t n, int64_t k, const void* a,
                                                      int64_t lda, const void* c, int64_t ldc, const ozfp4_options* options,
                                                      int64_t* bytes);
OZFP4_API ozfp4_status ozfp4_cuda_dgram(int order, int trans, int64_t n, int64_t k, const double* a, int64_t lda, double* c,
                                        int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                        const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_sgram(int order, int trans, int64_t n, int64_t k, const float* a, int64_t lda, float* c,
                                        int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                        const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_zgram(int order, int trans, int64_t n, int64_t k, const void* a, int64_t lda, void* c,
                                        int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                        const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_cgram(int order, int trans, int64_t n, int64_t k, const void* a, int64_t lda, void* c,
                                        int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                        const ozfp4_options* options);

/* As ozfp4_igemm and its variants, on the kernels of floating-point products. OZFP4_OVERFLOW_ERROR, which would synchronise, and
 * OZFP4_SCHEME_I are refused; options.overflows receives the number of entries that do not fit. */
OZFP4_API ozfp4_status ozfp4_cuda_workspace_size_igemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                       int64_t alpha, ozfp4_type type_a, const void* a, int64_t lda,
                                                       ozfp4_type type_b, const void* b, int64_t ldb, int64_t beta,
                                                       ozfp4_type type_c, const void* c, int64_t ldc,
                                                       const ozfp4_options* options, int64_t* bytes);
OZFP4_API ozfp4_status ozfp4_cuda_igemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int64_t alpha,
                                        ozfp4_type type_a, const void* a, int64_t lda, ozfp4_type type_b, const void* b,
                                        int64_t ldb, int64_t beta, ozfp4_type type_c, void* c, int64_t ldc, void* workspace,
                                        int64_t workspace_bytes, void* stream, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_gemm_i8i8i32(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int32_t alpha,
                                               const int8_t* a, int64_t lda, const int8_t* b, int64_t ldb, int32_t beta,
                                               int32_t* c, int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                               const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_gemm_i32i32i64(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                 int64_t alpha, const int32_t* a, int64_t lda, const int32_t* b, int64_t ldb,
                                                 int64_t beta, int64_t* c, int64_t ldc, void* workspace, int64_t workspace_bytes,
                                                 void* stream, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_gemm_i64i64i64(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                 int64_t alpha, const int64_t* a, int64_t lda, const int64_t* b, int64_t ldb,
                                                 int64_t beta, int64_t* c, int64_t ldc, void* workspace, int64_t workspace_bytes,
                                                 void* stream, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_workspace_size_gemm_mod(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                          ozfp4_type type_a, const void* a, int64_t lda, ozfp4_type type_b,
                                                          const void* b, int64_t ldb, int64_t modulus, const int64_t* c,
                                                          int64_t ldc, const ozfp4_options* options, int64_t* bytes);
OZFP4_API ozfp4_status ozfp4_cuda_gemm_mod(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, ozfp4_type type_a,
                                           const void* a, int64_t lda, ozfp4_type type_b, const void* b, int64_t ldb,
                                           int64_t modulus, int64_t* c, int64_t ldc, void* workspace, int64_t workspace_bytes,
                                           void* stream, const ozfp4_options* options);

/* As ozfp4_prepare, for a matrix on the device and on a stream. X is copied, scaled and encoded in `memory` of the caller, which
 * is aligned to 256 bytes and has the size that ozfp4_cuda_prepared_size returns for the same arguments. The memory belongs to
 * the operand until it is released and every stream has passed the products that use it. Products on another stream begin after
 * an event of this one. */
OZFP4_API ozfp4_status ozfp4_cuda_prepared_size(ozfp4_type type, ozfp4_side side, int order, int trans, int64_t rows,
                                                int64_t columns, const void* x, int64_t ldx, const ozfp4_options* options,
                                                int64_t* bytes);
OZFP4_API ozfp4_status ozfp4_cuda_prepare(ozfp4_type type, ozfp4_side side, int order, int trans, int64_t rows, int64_t columns,
                                          const void* x, int64_t ldx, void* memory, int64_t memory_bytes, void* stream,
                                          const ozfp4_options* options, ozfp4_cuda_prepared** prepared);
/* Frees the host's part of it; the memory is the caller's. NULL is allowed. No call may use it meanwhile. */
OZFP4_API void ozfp4_cuda_release(ozfp4_cuda_prepared* prepared);
/* As ozfp4_gemm_prepared. */
OZFP4_API ozfp4_status ozfp4_cuda_workspace_size_gemm_prepared(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                               const void* alpha, const void* a, int64_t lda,
                                                               const ozfp4_cuda_prepared* prepared_a, const void* b, int64_t ldb,
                                                               const ozfp4_cuda_prepared* prepared_b, const void* beta,
                                                               const void* c, int64_t ldc, const ozfp4_options* options,
                                                               int64_t* bytes);
OZFP4_API ozfp4_status ozfp4_cuda_gemm_prepared(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                const void* alpha, const void* a, int64_t lda,
                                                const ozfp4_cuda_prepared* prepared_a, const void* b, int64_t ldb,
                                                const ozfp4_cuda_prepared* prepared_b, const void* beta, void* c, int64_t ldc,
                                                void* workspace, int64_t workspace_bytes, void* stream,
                                                const ozfp4_options* options);

#ifdef __cplusplus
}
#endif

#endif /* OZFP4_H */
