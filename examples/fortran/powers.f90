! Powers of a matrix of integers and of reals, where the exact result is known: the Fibonacci numbers.
program powers
  use, intrinsic :: iso_c_binding
  use ozfp4
  implicit none
  integer(c_int64_t), parameter :: n = 2
  integer, parameter :: steps = 77  ! F(78) is the last one below 2^53
  real(c_double) :: a(n, n), b(n, n), c(n, n)
  integer(c_int64_t) :: ia(n, n), ib(n, n), ic(n, n)
  type(ozfp4_options) :: options
  type(ozfp4_report), target :: report
  integer :: i

  a = reshape([1, 1, 1, 0], [2, 2])
  ia = reshape([1, 1, 1, 0], [2, 2])
  b = a
  ib = ia
  options%accuracy = int(OZFP4_ACCURACY_CORRECT, c_int32_t)
  options%report = c_loc(report)
  do i = 2, steps
    call check(ozfp4_dgemm(OZFP4_COL_MAJOR, OZFP4_NO_TRANS, OZFP4_TRANS, n, n, n, 1.0_c_double, a, n, b, n, 0.0_c_double, c, n, &
                           options))
    b = c
    call check(ozfp4_gemm_i64i64i64(OZFP4_COL_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, n, n, n, 1_c_int64_t, ia, n, ib, n, &
                                    0_c_int64_t, ic, n))
    ib = ic
  end do
  print '(a, i0, a, i0, a, i0)', 'F(', steps + 1, ') = ', ib(1, 1), ', products of planes: ', report%products
  if (ib(1, 1) /= 8944394323791464_c_int64_t) error stop 'integers'
  if (any(int(b, c_int64_t) /= ib)) error stop 'reals'
  if (ozfp4_dgemm(0_c_int, OZFP4_NO_TRANS, OZFP4_TRANS, n, n, n, 1.0_c_double, a, n, b, n, 0.0_c_double, c, n) &
      /= OZFP4_INVALID_ARGUMENT) error stop 'order'
  print '(a)', ozfp4_error_text()

contains

  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status == OZFP4_OK) return
    print '(a)', ozfp4_error_text()
    error stop 1
  end subroutine

end program
