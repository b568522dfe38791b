! The C interface of ozfp4 for Fortran: made by tools/make_fortran_module.py from ozfp4.h, which describes the functions.
! Compile it with your program. Arrays are passed as they are, in OZFP4_COL_MAJOR; options may be left out.
module ozfp4
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer(c_int), parameter :: OZFP4_OK = 0
  integer(c_int), parameter :: OZFP4_INVALID_ARGUMENT = 1
  integer(c_int), parameter :: OZFP4_UNSUPPORTED = 2
  integer(c_int), parameter :: OZFP4_OUT_OF_MEMORY = 3
  integer(c_int), parameter :: OZFP4_WORKSPACE = 4
  integer(c_int), parameter :: OZFP4_OVERFLOW = 5
  integer(c_int), parameter :: OZFP4_NO_DEVICE = 6
  integer(c_int), parameter :: OZFP4_DEVICE_ERROR = 7
  integer(c_int), parameter :: OZFP4_INTERNAL = 8
  integer(c_int), parameter :: OZFP4_ROW_MAJOR = 101
  integer(c_int), parameter :: OZFP4_COL_MAJOR = 102
  integer(c_int), parameter :: OZFP4_NO_TRANS = 111
  integer(c_int), parameter :: OZFP4_TRANS = 112
  integer(c_int), parameter :: OZFP4_CONJ_TRANS = 113
  integer(c_int), parameter :: OZFP4_LEFT = 141
  integer(c_int), parameter :: OZFP4_RIGHT = 142
  integer(c_int), parameter :: OZFP4_FLOAT64 = 1
  integer(c_int), parameter :: OZFP4_FLOAT32 = 2
  integer(c_int), parameter :: OZFP4_COMPLEX128 = 3
  integer(c_int), parameter :: OZFP4_COMPLEX64 = 4
  integer(c_int), parameter :: OZFP4_INT8 = 5
  integer(c_int), parameter :: OZFP4_INT16 = 6
  integer(c_int), parameter :: OZFP4_INT32 = 7
  integer(c_int), parameter :: OZFP4_INT64 = 8
  integer(c_int), parameter :: OZFP4_UINT8 = 9
  integer(c_int), parameter :: OZFP4_UINT16 = 10
  integer(c_int), parameter :: OZFP4_UINT32 = 11
  integer(c_int), parameter :: OZFP4_UINT64 = 12
  integer(c_int), parameter :: OZFP4_ACCURACY_DEFAULT = 0
  integer(c_int), parameter :: OZFP4_ACCURACY_SCALED = 1
  integer(c_int), parameter :: OZFP4_ACCURACY_STANDARD = 2
  integer(c_int), parameter :: OZFP4_ACCURACY_CORRECT = 3
  integer(c_int), parameter :: OZFP4_ROUND_NEAREST = 0
  integer(c_int), parameter :: OZFP4_ROUND_DOWN = 1
  integer(c_int), parameter :: OZFP4_ROUND_UP = 2
  integer(c_int), parameter :: OZFP4_ROUND_ZERO = 3
  integer(c_int), parameter :: OZFP4_SCHEME_DEFAULT = 0
  integer(c_int), parameter :: OZFP4_SCHEME_I = 1
  integer(c_int), parameter :: OZFP4_SCHEME_II = 2
  integer(c_int), parameter :: OZFP4_BACKEND_AUTO = 0
  integer(c_int), parameter :: OZFP4_BACKEND_FP4 = 1
  integer(c_int), parameter :: OZFP4_BACKEND_INT8 = 2
  integer(c_int), parameter :: OZFP4_BACKEND_FP64 = 3
  integer(c_int), parameter :: OZFP4_FAMILY_LEAST = 0
  integer(c_int), parameter :: OZFP4_FAMILY_PAPER = 1
  integer(c_int), parameter :: OZFP4_FAMILY_PAPER_KARATSUBA = 2
  integer(c_int), parameter :: OZFP4_OVERFLOW_WRAP = 0
  integer(c_int), parameter :: OZFP4_OVERFLOW_ERROR = 1

  type, bind(c) :: ozfp4_report
    integer(c_size_t) :: size = 120_c_size_t
    integer(c_int32_t) :: backend = 0
    integer(c_int32_t) :: scheme = 0
    integer(c_int32_t) :: bits = 0
    integer(c_int32_t) :: products = 0
    integer(c_int32_t) :: moduli_used = 0
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: workspace = 0
    integer(c_int64_t) :: repaired = 0
    integer(c_int64_t) :: special_rows = 0
    integer(c_int64_t) :: special_columns = 0
    integer(c_int64_t) :: overflows = 0
    real(c_double) :: largest_bound = 0.0_c_double
    real(c_double) :: seconds_scale = 0.0_c_double
    real(c_double) :: seconds_encode = 0.0_c_double
    real(c_double) :: seconds_multiply = 0.0_c_double
    real(c_double) :: seconds_reconstruct = 0.0_c_double
    real(c_double) :: seconds_repair = 0.0_c_double
  end type

  type, bind(c) :: ozfp4_options
    integer(c_size_t) :: size = 104_c_size_t
    integer(c_int32_t) :: accuracy = 0
    integer(c_int32_t) :: rounding = 0
    integer(c_int32_t) :: scheme = 0
    integer(c_int32_t) :: backend = 0
    integer(c_int32_t) :: family = 0
    integer(c_int32_t) :: bits = 0
    integer(c_int32_t) :: overflow = 0
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: workspace_limit = 0
    type(c_ptr) :: plan = c_null_ptr
    type(c_ptr) :: bound = c_null_ptr
    integer(c_int64_t) :: ld_bound = 0
    integer(c_int64_t) :: stride_bound = 0
    type(c_ptr) :: report = c_null_ptr
    type(c_ptr) :: repaired = c_null_ptr
    type(c_ptr) :: overflows = c_null_ptr
  end type

  type, bind(c) :: ozfp4_plan_info
    integer(c_size_t) :: size = 48_c_size_t
    integer(c_int32_t) :: scheme = 0
    integer(c_int32_t) :: backend = 0
    integer(c_int32_t) :: family = 0
    integer(c_int32_t) :: bits = 0
    integer(c_int32_t) :: products = 0
    integer(c_int32_t) :: planes = 0
    integer(c_int32_t) :: moduli = 0
    integer(c_int32_t) :: is_complex = 0
    integer(c_int64_t) :: k_max = 0
  end type

  interface
    function ozfp4_status_name(status) bind(c)
      import
      integer(c_int), value :: status
      type(c_ptr) :: ozfp4_status_name
    end function
    function ozfp4_last_error() bind(c)
      import
      type(c_ptr) :: ozfp4_last_error
    end function
    function ozfp4_version() bind(c)
      import
      integer(c_int) :: ozfp4_version
    end function
    function ozfp4_version_string() bind(c)
      import
      type(c_ptr) :: ozfp4_version_string
    end function
    function ozfp4_read_environment() bind(c)
      import
      integer(c_int) :: ozfp4_read_environment
    end function
    function ozfp4_set_num_threads(count) bind(c)
      import
      integer(c_int), value :: count
      integer(c_int) :: ozfp4_set_num_threads
    end function
    function ozfp4_get_num_threads(count) bind(c)
      import
      integer(c_int), intent(out) :: count
      integer(c_int) :: ozfp4_get_num_threads
    end function
    function ozfp4_has_cuda() bind(c)
      import
      integer(c_int) :: ozfp4_has_cuda
    end function
    function ozfp4_dgemm(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      real(c_double), value :: alpha
      real(c_double), intent(in) :: a(*)
      integer(c_int64_t), value :: lda
      real(c_double), intent(in) :: b(*)
      integer(c_int64_t), value :: ldb
      real(c_double), value :: beta
      real(c_double), intent(inout) :: c(*)
      integer(c_int64_t), value :: ldc
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_dgemm
    end function
    function ozfp4_sgemm(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      real(c_float), value :: alpha
      real(c_float), intent(in) :: a(*)
      integer(c_int64_t), value :: lda
      real(c_float), intent(in) :: b(*)
      integer(c_int64_t), value :: ldb
      real(c_float), value :: beta
      real(c_float), intent(inout) :: c(*)
      integer(c_int64_t), value :: ldc
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_sgemm
    end function
    function ozfp4_zgemm(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      complex(c_double_complex), intent(in) :: alpha
      complex(c_double_complex), intent(in) :: a(*)
      integer(c_int64_t), value :: lda
      complex(c_double_complex), intent(in) :: b(*)
      integer(c_int64_t), value :: ldb
      complex(c_double_complex), intent(in) :: beta
      complex(c_double_complex), intent(inout) :: c(*)
      integer(c_int64_t), value :: ldc
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_zgemm
    end function
    function ozfp4_cgemm(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      complex(c_float_complex), intent(in) :: alpha
      complex(c_float_complex), intent(in) :: a(*)
      integer(c_int64_t), value :: lda
      complex(c_float_complex), intent(in) :: b(*)
      integer(c_int64_t), value :: ldb
      complex(c_float_complex), intent(in) :: beta
      complex(c_float_complex), intent(inout) :: c(*)
      integer(c_int64_t), value :: ldc
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_cgemm
    end function
    function ozfp4_dgemm_strided_batched(order, transa, transb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, &
        ldc, stride_c, batch, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      real(c_double), value :: alpha
      real(c_double), intent(in) :: a(*)
      integer(c_int64_t), value :: lda
      integer(c_int64_t), value :: stride_a
      real(c_double), intent(in) :: b(*)
      integer(c_int64_t), value :: ldb
      integer(c_int64_t), value :: stride_b
      real(c_double), value :: beta
      real(c_double), intent(inout) :: c(*)
      integer(c_int64_t), value :: ldc
      integer(c_int64_t), value :: stride_c
      integer(c_int64_t), value :: batch
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_dgemm_strided_batched
    end function
    function ozfp4_sgemm_strided_batched(order, transa, transb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, &
        ldc, stride_c, batch, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      real(c_float), value :: alpha
      real(c_float), intent(in) :: a(*)
      integer(c_int64_t), value :: lda
      integer(c_int64_t), value :: stride_a
      real(c_float), intent(in) :: b(*)
      integer(c_int64_t), value :: ldb
      integer(c_int64_t), value :: stride_b
      real(c_float), value :: beta
      real(c_float), intent(inout) :: c(*)
      integer(c_int64_t), value :: ldc
      integer(c_int64_t), value :: stride_c
      integer(c_int64_t), value :: batch
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_sgemm_strided_batched
    end function
    function ozfp4_zgemm_strided_batched(order, transa, transb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, &
        ldc, stride_c, batch, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      complex(c_double_complex), intent(in) :: alpha
      complex(c_double_complex), intent(in) :: a(*)
      integer(c_int64_t), value :: lda
      integer(c_int64_t), value :: stride_a
      complex(c_double_complex), intent(in) :: b(*)
      integer(c_int64_t), value :: ldb
      integer(c_int64_t), value :: stride_b
      complex(c_double_complex), intent(in) :: beta
      complex(c_double_complex), intent(inout) :: c(*)
      integer(c_int64_t), value :: ldc
      integer(c_int64_t), value :: stride_c
      integer(c_int64_t), value :: batch
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_zgemm_strided_batched
    end function
    function ozfp4_cgemm_strided_batched(order, transa, transb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, &
        ldc, stride_c, batch, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      complex(c_float_complex), intent(in) :: alpha
      complex(c_float_complex), intent(in) :: a(*)
      integer(c_int64_t), value :: lda
      integer(c_int64_t), value :: stride_a
      complex(c_float_complex), intent(in) :: b(*)
      integer(c_int64_t), value :: ldb
      integer(c_int64_t), value :: stride_b
      complex(c_float_complex), intent(in) :: beta
      complex(c_float_complex), intent(inout) :: c(*)
      integer(c_int64_t), value :: ldc
      integer(c_int64_t), value :: stride_c
      integer(c_int64_t), value :: batch
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_cgemm_strided_batched
    end function
    function ozfp4_dgram(order, trans, n, k, a, lda, c, ldc, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: trans
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      real(c_double), intent(in) :: a(*)
      integer(c_int64_t), value :: lda
      real(c_double), intent(inout) :: c(*)
      integer(c_int64_t), value :: ldc
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_dgram
    end function
    function ozfp4_sgram(order, trans, n, k, a, lda, c, ldc, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: trans
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      real(c_float), intent(in) :: a(*)
      integer(c_int64_t), value :: lda
      real(c_float), intent(inout) :: c(*)
      integer(c_int64_t), value :: ldc
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_sgram
    end function
    function ozfp4_zgram(order, trans, n, k, a, lda, c, ldc, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: trans
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      complex(c_double_complex), intent(in) :: a(*)
      integer(c_int64_t), value :: lda
      complex(c_double_complex), intent(inout) :: c(*)
      integer(c_int64_t), value :: ldc
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_zgram
    end function
    function ozfp4_cgram(order, trans, n, k, a, lda, c, ldc, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: trans
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      complex(c_float_complex), intent(in) :: a(*)
      integer(c_int64_t), value :: lda
      complex(c_float_complex), intent(inout) :: c(*)
      integer(c_int64_t), value :: ldc
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_cgram
    end function
    function ozfp4_igemm(order, transa, transb, m, n, k, alpha, type_a, a, lda, type_b, b, ldb, beta, type_c, c, ldc, &
        options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      integer(c_int64_t), value :: alpha
      integer(c_int), value :: type_a
      type(c_ptr), value :: a
      integer(c_int64_t), value :: lda
      integer(c_int), value :: type_b
      type(c_ptr), value :: b
      integer(c_int64_t), value :: ldb
      integer(c_int64_t), value :: beta
      integer(c_int), value :: type_c
      type(c_ptr), value :: c
      integer(c_int64_t), value :: ldc
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_igemm
    end function
    function ozfp4_gemm_i8i8i32(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      integer(c_int32_t), value :: alpha
      integer(c_int8_t), intent(in) :: a(*)
      integer(c_int64_t), value :: lda
      integer(c_int8_t), intent(in) :: b(*)
      integer(c_int64_t), value :: ldb
      integer(c_int32_t), value :: beta
      integer(c_int32_t), intent(inout) :: c(*)
      integer(c_int64_t), value :: ldc
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_gemm_i8i8i32
    end function
    function ozfp4_gemm_i32i32i64(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      integer(c_int64_t), value :: alpha
      integer(c_int32_t), intent(in) :: a(*)
      integer(c_int64_t), value :: lda
      integer(c_int32_t), intent(in) :: b(*)
      integer(c_int64_t), value :: ldb
      integer(c_int64_t), value :: beta
      integer(c_int64_t), intent(inout) :: c(*)
      integer(c_int64_t), value :: ldc
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_gemm_i32i32i64
    end function
    function ozfp4_gemm_i64i64i64(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      integer(c_int64_t), value :: alpha
      integer(c_int64_t), intent(in) :: a(*)
      integer(c_int64_t), value :: lda
      integer(c_int64_t), intent(in) :: b(*)
      integer(c_int64_t), value :: ldb
      integer(c_int64_t), value :: beta
      integer(c_int64_t), intent(inout) :: c(*)
      integer(c_int64_t), value :: ldc
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_gemm_i64i64i64
    end function
    function ozfp4_gemm_mod(order, transa, transb, m, n, k, type_a, a, lda, type_b, b, ldb, modulus, c, ldc, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      integer(c_int), value :: type_a
      type(c_ptr), value :: a
      integer(c_int64_t), value :: lda
      integer(c_int), value :: type_b
      type(c_ptr), value :: b
      integer(c_int64_t), value :: ldb
      integer(c_int64_t), value :: modulus
      integer(c_int64_t), intent(inout) :: c(*)
      integer(c_int64_t), value :: ldc
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_gemm_mod
    end function
    function ozfp4_prepare(type, side, order, trans, rows, columns, x, ldx, options, prepared) bind(c)
      import
      integer(c_int), value :: type
      integer(c_int), value :: side
      integer(c_int), value :: order
      integer(c_int), value :: trans
      integer(c_int64_t), value :: rows
      integer(c_int64_t), value :: columns
      type(c_ptr), value :: x
      integer(c_int64_t), value :: ldx
      type(ozfp4_options), intent(in), optional :: options
      type(c_ptr), intent(out) :: prepared
      integer(c_int) :: ozfp4_prepare
    end function
    subroutine ozfp4_release(prepared) bind(c)
      import
      type(c_ptr), value :: prepared
    end subroutine
    function ozfp4_prepared_bytes(prepared) bind(c)
      import
      type(c_ptr), value :: prepared
      integer(c_int64_t) :: ozfp4_prepared_bytes
    end function
    function ozfp4_gemm_prepared(order, transa, transb, m, n, k, alpha, a, lda, prepared_a, b, ldb, prepared_b, beta, c, ldc, &
        options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      type(c_ptr), value :: alpha
      type(c_ptr), value :: a
      integer(c_int64_t), value :: lda
      type(c_ptr), value :: prepared_a
      type(c_ptr), value :: b
      integer(c_int64_t), value :: ldb
      type(c_ptr), value :: prepared_b
      type(c_ptr), value :: beta
      type(c_ptr), value :: c
      integer(c_int64_t), value :: ldc
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_gemm_prepared
    end function
    function ozfp4_plan_create(type, k, options, plan) bind(c)
      import
      integer(c_int), value :: type
      integer(c_int64_t), value :: k
      type(ozfp4_options), intent(in), optional :: options
      type(c_ptr), intent(out) :: plan
      integer(c_int) :: ozfp4_plan_create
    end function
    subroutine ozfp4_plan_destroy(plan) bind(c)
      import
      type(c_ptr), value :: plan
    end subroutine
    function ozfp4_plan_describe(plan, info) bind(c)
      import
      type(c_ptr), value :: plan
      type(ozfp4_plan_info), intent(inout) :: info
      integer(c_int) :: ozfp4_plan_describe
    end function
    function ozfp4_plan_moduli(plan, moduli, count) bind(c)
      import
      type(c_ptr), value :: plan
      integer(c_int64_t), intent(inout) :: moduli(*)
      integer(c_int32_t), value :: count
      integer(c_int) :: ozfp4_plan_moduli
    end function
    function ozfp4_workspace_size(type, m, n, k, options, bytes) bind(c)
      import
      integer(c_int), value :: type
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int64_t), intent(inout) :: bytes
      integer(c_int) :: ozfp4_workspace_size
    end function
    function ozfp4_cuda_workspace_size(type, order, transa, transb, m, n, k, options, bytes) bind(c)
      import
      integer(c_int), value :: type
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int64_t), intent(inout) :: bytes
      integer(c_int) :: ozfp4_cuda_workspace_size
    end function
    function ozfp4_cuda_workspace_size_gemm(type, order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, &
        options, bytes) bind(c)
      import
      integer(c_int), value :: type
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      type(c_ptr), value :: alpha
      type(c_ptr), value :: a
      integer(c_int64_t), value :: lda
      type(c_ptr), value :: b
      integer(c_int64_t), value :: ldb
      type(c_ptr), value :: beta
      type(c_ptr), value :: c
      integer(c_int64_t), value :: ldc
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int64_t), intent(inout) :: bytes
      integer(c_int) :: ozfp4_cuda_workspace_size_gemm
    end function
    function ozfp4_cuda_dgemm(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, workspace, &
        workspace_bytes, stream, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      real(c_double), value :: alpha
      type(c_ptr), value :: a
      integer(c_int64_t), value :: lda
      type(c_ptr), value :: b
      integer(c_int64_t), value :: ldb
      real(c_double), value :: beta
      type(c_ptr), value :: c
      integer(c_int64_t), value :: ldc
      type(c_ptr), value :: workspace
      integer(c_int64_t), value :: workspace_bytes
      type(c_ptr), value :: stream
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_cuda_dgemm
    end function
    function ozfp4_cuda_sgemm(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, workspace, &
        workspace_bytes, stream, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      real(c_float), value :: alpha
      type(c_ptr), value :: a
      integer(c_int64_t), value :: lda
      type(c_ptr), value :: b
      integer(c_int64_t), value :: ldb
      real(c_float), value :: beta
      type(c_ptr), value :: c
      integer(c_int64_t), value :: ldc
      type(c_ptr), value :: workspace
      integer(c_int64_t), value :: workspace_bytes
      type(c_ptr), value :: stream
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_cuda_sgemm
    end function
    function ozfp4_cuda_zgemm(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, workspace, &
        workspace_bytes, stream, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      complex(c_double_complex), intent(in) :: alpha
      type(c_ptr), value :: a
      integer(c_int64_t), value :: lda
      type(c_ptr), value :: b
      integer(c_int64_t), value :: ldb
      complex(c_double_complex), intent(in) :: beta
      type(c_ptr), value :: c
      integer(c_int64_t), value :: ldc
      type(c_ptr), value :: workspace
      integer(c_int64_t), value :: workspace_bytes
      type(c_ptr), value :: stream
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_cuda_zgemm
    end function
    function ozfp4_cuda_cgemm(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, workspace, &
        workspace_bytes, stream, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      complex(c_float_complex), intent(in) :: alpha
      type(c_ptr), value :: a
      integer(c_int64_t), value :: lda
      type(c_ptr), value :: b
      integer(c_int64_t), value :: ldb
      complex(c_float_complex), intent(in) :: beta
      type(c_ptr), value :: c
      integer(c_int64_t), value :: ldc
      type(c_ptr), value :: workspace
      integer(c_int64_t), value :: workspace_bytes
      type(c_ptr), value :: stream
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_cuda_cgemm
    end function
    function ozfp4_cuda_workspace_size_strided_batched(type, order, transa, transb, m, n, k, stride_a, stride_b, batch, &
        options, bytes) bind(c)
      import
      integer(c_int), value :: type
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      integer(c_int64_t), value :: stride_a
      integer(c_int64_t), value :: stride_b
      integer(c_int64_t), value :: batch
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int64_t), intent(inout) :: bytes
      integer(c_int) :: ozfp4_cuda_workspace_size_strided_batched
    end function
    function ozfp4_cuda_dgemm_strided_batched(order, transa, transb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, &
        beta, c, ldc, stride_c, batch, workspace, workspace_bytes, stream, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      real(c_double), value :: alpha
      type(c_ptr), value :: a
      integer(c_int64_t), value :: lda
      integer(c_int64_t), value :: stride_a
      type(c_ptr), value :: b
      integer(c_int64_t), value :: ldb
      integer(c_int64_t), value :: stride_b
      real(c_double), value :: beta
      type(c_ptr), value :: c
      integer(c_int64_t), value :: ldc
      integer(c_int64_t), value :: stride_c
      integer(c_int64_t), value :: batch
      type(c_ptr), value :: workspace
      integer(c_int64_t), value :: workspace_bytes
      type(c_ptr), value :: stream
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_cuda_dgemm_strided_batched
    end function
    function ozfp4_cuda_sgemm_strided_batched(order, transa, transb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, &
        beta, c, ldc, stride_c, batch, workspace, workspace_bytes, stream, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      real(c_float), value :: alpha
      type(c_ptr), value :: a
      integer(c_int64_t), value :: lda
      integer(c_int64_t), value :: stride_a
      type(c_ptr), value :: b
      integer(c_int64_t), value :: ldb
      integer(c_int64_t), value :: stride_b
      real(c_float), value :: beta
      type(c_ptr), value :: c
      integer(c_int64_t), value :: ldc
      integer(c_int64_t), value :: stride_c
      integer(c_int64_t), value :: batch
      type(c_ptr), value :: workspace
      integer(c_int64_t), value :: workspace_bytes
      type(c_ptr), value :: stream
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_cuda_sgemm_strided_batched
    end function
    function ozfp4_cuda_zgemm_strided_batched(order, transa, transb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, &
        beta, c, ldc, stride_c, batch, workspace, workspace_bytes, stream, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      complex(c_double_complex), intent(in) :: alpha
      type(c_ptr), value :: a
      integer(c_int64_t), value :: lda
      integer(c_int64_t), value :: stride_a
      type(c_ptr), value :: b
      integer(c_int64_t), value :: ldb
      integer(c_int64_t), value :: stride_b
      complex(c_double_complex), intent(in) :: beta
      type(c_ptr), value :: c
      integer(c_int64_t), value :: ldc
      integer(c_int64_t), value :: stride_c
      integer(c_int64_t), value :: batch
      type(c_ptr), value :: workspace
      integer(c_int64_t), value :: workspace_bytes
      type(c_ptr), value :: stream
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_cuda_zgemm_strided_batched
    end function
    function ozfp4_cuda_cgemm_strided_batched(order, transa, transb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, &
        beta, c, ldc, stride_c, batch, workspace, workspace_bytes, stream, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      complex(c_float_complex), intent(in) :: alpha
      type(c_ptr), value :: a
      integer(c_int64_t), value :: lda
      integer(c_int64_t), value :: stride_a
      type(c_ptr), value :: b
      integer(c_int64_t), value :: ldb
      integer(c_int64_t), value :: stride_b
      complex(c_float_complex), intent(in) :: beta
      type(c_ptr), value :: c
      integer(c_int64_t), value :: ldc
      integer(c_int64_t), value :: stride_c
      integer(c_int64_t), value :: batch
      type(c_ptr), value :: workspace
      integer(c_int64_t), value :: workspace_bytes
      type(c_ptr), value :: stream
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_cuda_cgemm_strided_batched
    end function
    function ozfp4_cuda_workspace_size_gram(type, order, trans, n, k, options, bytes) bind(c)
      import
      integer(c_int), value :: type
      integer(c_int), value :: order
      integer(c_int), value :: trans
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int64_t), intent(inout) :: bytes
      integer(c_int) :: ozfp4_cuda_workspace_size_gram
    end function
    function ozfp4_cuda_dgram(order, trans, n, k, a, lda, c, ldc, workspace, workspace_bytes, stream, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: trans
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      type(c_ptr), value :: a
      integer(c_int64_t), value :: lda
      type(c_ptr), value :: c
      integer(c_int64_t), value :: ldc
      type(c_ptr), value :: workspace
      integer(c_int64_t), value :: workspace_bytes
      type(c_ptr), value :: stream
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_cuda_dgram
    end function
    function ozfp4_cuda_sgram(order, trans, n, k, a, lda, c, ldc, workspace, workspace_bytes, stream, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: trans
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      type(c_ptr), value :: a
      integer(c_int64_t), value :: lda
      type(c_ptr), value :: c
      integer(c_int64_t), value :: ldc
      type(c_ptr), value :: workspace
      integer(c_int64_t), value :: workspace_bytes
      type(c_ptr), value :: stream
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_cuda_sgram
    end function
    function ozfp4_cuda_zgram(order, trans, n, k, a, lda, c, ldc, workspace, workspace_bytes, stream, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: trans
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      type(c_ptr), value :: a
      integer(c_int64_t), value :: lda
      type(c_ptr), value :: c
      integer(c_int64_t), value :: ldc
      type(c_ptr), value :: workspace
      integer(c_int64_t), value :: workspace_bytes
      type(c_ptr), value :: stream
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_cuda_zgram
    end function
    function ozfp4_cuda_cgram(order, trans, n, k, a, lda, c, ldc, workspace, workspace_bytes, stream, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: trans
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      type(c_ptr), value :: a
      integer(c_int64_t), value :: lda
      type(c_ptr), value :: c
      integer(c_int64_t), value :: ldc
      type(c_ptr), value :: workspace
      integer(c_int64_t), value :: workspace_bytes
      type(c_ptr), value :: stream
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_cuda_cgram
    end function
    function ozfp4_cuda_workspace_size_igemm(order, transa, transb, m, n, k, type_a, type_b, type_c, options, bytes) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      integer(c_int), value :: type_a
      integer(c_int), value :: type_b
      integer(c_int), value :: type_c
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int64_t), intent(inout) :: bytes
      integer(c_int) :: ozfp4_cuda_workspace_size_igemm
    end function
    function ozfp4_cuda_igemm(order, transa, transb, m, n, k, alpha, type_a, a, lda, type_b, b, ldb, beta, type_c, c, ldc, &
        workspace, workspace_bytes, stream, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      integer(c_int64_t), value :: alpha
      integer(c_int), value :: type_a
      type(c_ptr), value :: a
      integer(c_int64_t), value :: lda
      integer(c_int), value :: type_b
      type(c_ptr), value :: b
      integer(c_int64_t), value :: ldb
      integer(c_int64_t), value :: beta
      integer(c_int), value :: type_c
      type(c_ptr), value :: c
      integer(c_int64_t), value :: ldc
      type(c_ptr), value :: workspace
      integer(c_int64_t), value :: workspace_bytes
      type(c_ptr), value :: stream
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_cuda_igemm
    end function
    function ozfp4_cuda_gemm_i8i8i32(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, workspace, &
        workspace_bytes, stream, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      integer(c_int32_t), value :: alpha
      type(c_ptr), value :: a
      integer(c_int64_t), value :: lda
      type(c_ptr), value :: b
      integer(c_int64_t), value :: ldb
      integer(c_int32_t), value :: beta
      type(c_ptr), value :: c
      integer(c_int64_t), value :: ldc
      type(c_ptr), value :: workspace
      integer(c_int64_t), value :: workspace_bytes
      type(c_ptr), value :: stream
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_cuda_gemm_i8i8i32
    end function
    function ozfp4_cuda_gemm_i32i32i64(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, workspace, &
        workspace_bytes, stream, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      integer(c_int64_t), value :: alpha
      type(c_ptr), value :: a
      integer(c_int64_t), value :: lda
      type(c_ptr), value :: b
      integer(c_int64_t), value :: ldb
      integer(c_int64_t), value :: beta
      type(c_ptr), value :: c
      integer(c_int64_t), value :: ldc
      type(c_ptr), value :: workspace
      integer(c_int64_t), value :: workspace_bytes
      type(c_ptr), value :: stream
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_cuda_gemm_i32i32i64
    end function
    function ozfp4_cuda_gemm_i64i64i64(order, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, workspace, &
        workspace_bytes, stream, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      integer(c_int64_t), value :: alpha
      type(c_ptr), value :: a
      integer(c_int64_t), value :: lda
      type(c_ptr), value :: b
      integer(c_int64_t), value :: ldb
      integer(c_int64_t), value :: beta
      type(c_ptr), value :: c
      integer(c_int64_t), value :: ldc
      type(c_ptr), value :: workspace
      integer(c_int64_t), value :: workspace_bytes
      type(c_ptr), value :: stream
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_cuda_gemm_i64i64i64
    end function
    function ozfp4_cuda_workspace_size_gemm_mod(order, transa, transb, m, n, k, type_a, type_b, options, bytes) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      integer(c_int), value :: type_a
      integer(c_int), value :: type_b
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int64_t), intent(inout) :: bytes
      integer(c_int) :: ozfp4_cuda_workspace_size_gemm_mod
    end function
    function ozfp4_cuda_gemm_mod(order, transa, transb, m, n, k, type_a, a, lda, type_b, b, ldb, modulus, c, ldc, workspace, &
        workspace_bytes, stream, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      integer(c_int), value :: type_a
      type(c_ptr), value :: a
      integer(c_int64_t), value :: lda
      integer(c_int), value :: type_b
      type(c_ptr), value :: b
      integer(c_int64_t), value :: ldb
      integer(c_int64_t), value :: modulus
      type(c_ptr), value :: c
      integer(c_int64_t), value :: ldc
      type(c_ptr), value :: workspace
      integer(c_int64_t), value :: workspace_bytes
      type(c_ptr), value :: stream
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_cuda_gemm_mod
    end function
    function ozfp4_cuda_prepared_size(type, side, order, trans, rows, columns, options, bytes) bind(c)
      import
      integer(c_int), value :: type
      integer(c_int), value :: side
      integer(c_int), value :: order
      integer(c_int), value :: trans
      integer(c_int64_t), value :: rows
      integer(c_int64_t), value :: columns
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int64_t), intent(inout) :: bytes
      integer(c_int) :: ozfp4_cuda_prepared_size
    end function
    function ozfp4_cuda_prepare(type, side, order, trans, rows, columns, x, ldx, memory, memory_bytes, stream, options, &
        prepared) bind(c)
      import
      integer(c_int), value :: type
      integer(c_int), value :: side
      integer(c_int), value :: order
      integer(c_int), value :: trans
      integer(c_int64_t), value :: rows
      integer(c_int64_t), value :: columns
      type(c_ptr), value :: x
      integer(c_int64_t), value :: ldx
      type(c_ptr), value :: memory
      integer(c_int64_t), value :: memory_bytes
      type(c_ptr), value :: stream
      type(ozfp4_options), intent(in), optional :: options
      type(c_ptr), intent(out) :: prepared
      integer(c_int) :: ozfp4_cuda_prepare
    end function
    subroutine ozfp4_cuda_release(prepared) bind(c)
      import
      type(c_ptr), value :: prepared
    end subroutine
    function ozfp4_cuda_workspace_size_prepared(order, transa, transb, m, n, k, prepared_a, prepared_b, options, bytes) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      type(c_ptr), value :: prepared_a
      type(c_ptr), value :: prepared_b
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int64_t), intent(inout) :: bytes
      integer(c_int) :: ozfp4_cuda_workspace_size_prepared
    end function
    function ozfp4_cuda_gemm_prepared(order, transa, transb, m, n, k, alpha, a, lda, prepared_a, b, ldb, prepared_b, beta, c, &
        ldc, workspace, workspace_bytes, stream, options) bind(c)
      import
      integer(c_int), value :: order
      integer(c_int), value :: transa
      integer(c_int), value :: transb
      integer(c_int64_t), value :: m
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: k
      type(c_ptr), value :: alpha
      type(c_ptr), value :: a
      integer(c_int64_t), value :: lda
      type(c_ptr), value :: prepared_a
      type(c_ptr), value :: b
      integer(c_int64_t), value :: ldb
      type(c_ptr), value :: prepared_b
      type(c_ptr), value :: beta
      type(c_ptr), value :: c
      integer(c_int64_t), value :: ldc
      type(c_ptr), value :: workspace
      integer(c_int64_t), value :: workspace_bytes
      type(c_ptr), value :: stream
      type(ozfp4_options), intent(in), optional :: options
      integer(c_int) :: ozfp4_cuda_gemm_prepared
    end function
  end interface

contains

  ! What ozfp4_last_error says, as a Fortran string.
  function ozfp4_error_text() result(text)
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: held(:)
    integer :: length
    call c_f_pointer(ozfp4_last_error(), held, [1024])
    length = 0
    do while (held(length + 1) /= c_null_char)
      length = length + 1
    end do
    allocate(character(len=length) :: text)
    text = transfer(held(1:length), text)
  end function

end module
