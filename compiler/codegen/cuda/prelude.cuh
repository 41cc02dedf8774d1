
#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#endif
#ifndef SG_HOST
#define SG_SHARED(type, name, n) __shared__ __align__(16) type name[n]
/* The same in the memory that a block is given, from a byte of it on. */
#define SG_GIVEN(type, name, n, start) \
  extern __shared__ __align__(16) unsigned char sg_given[]; \
  type* const name = reinterpret_cast<type*>(sg_given + start)
#endif
#define SG_FULL 0xffffffffu
#define SG_MEMBER __device__ __forceinline__
#define SG_INLINE static SG_MEMBER

struct half_t { uint16_t bits; };
struct bfloat_t { uint16_t bits; };
template <class T, int n> struct alignas(sizeof(T) * n) Vector { T at[n]; };

template <class T> struct Register { typedef T type; };  // what an element is outside memory
template <> struct Register<half_t> { typedef float type; };
template <> struct Register<bfloat_t> { typedef float type; };

template <class T> struct Wrapping { typedef uint32_t type; };  // the integers to compute in without overflow
template <> struct Wrapping<int64_t> { typedef uint64_t type; };
template <> struct Wrapping<uint64_t> { typedef uint64_t type; };

template <class T> struct Least { static constexpr bool is_signed = T(-1) < T(0);
  static constexpr int bits = sizeof(T) * 8;
  static constexpr T value = is_signed ? T(uint64_t(1) << (bits - 1)) : T(0); };
template <class To, class From> SG_INLINE To bits_as(From x) {
  static_assert(sizeof(To) == sizeof(From), "bits of another size");
  union { From from; To to; } both;
  both.from = x;
  return both.to;
}

SG_INLINE float to_float(half_t x) {
#ifndef SG_HOST
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
  return wide;
#else
  const uint32_t sign = uint32_t(x.bits & 0x8000) << 16, rest = x.bits & 0x7fff;
  if (rest >= 0x7c00) return bits_as<float>(sign | 0x7f800000u | rest << 13);
  return bits_as<float>(sign | bits_as<uint32_t>(bits_as<float>(rest << 13) * 0x1p112f));
#endif
}
SG_INLINE float to_float(bfloat_t x) { return bits_as<float>(uint32_t(x.bits) << 16); }

template <class T> SG_INLINE T from_float(float x);
template <> SG_MEMBER half_t from_float<half_t>(float x) {
  half_t narrow;
#ifndef SG_HOST
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(x));
#else
  const uint32_t bits = bits_as<uint32_t>(x), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  uint32_t half;
  if (rest > 0x7f800000) half = 0x7e00;
  else if (rest >= 0x477ff000) half = 0x7c00;
  else if (rest < 0x38800000) half = bits_as<uint32_t>(bits_as<float>(rest) + 0.5f) - 0x3f000000;
  else half = (rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13;
  narrow.bits = uint16_t(sign | half);
#endif
  return narrow;
}
template <> SG_MEMBER bfloat_t from_float<bfloat_t>(float x) {
  bfloat_t narrow;
#if !defined(SG_HOST) && __CUDA_ARCH__ >= 800
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(x));
#else
  const uint32_t bits = bits_as<uint32_t>(x);
  narrow.bits = x != x ? 0x7fc0 : uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#endif
  return narrow;
}
template <class T> SG_INLINE float rounded(float x) { return to_float(from_float<T>(x)); }
template <class T> SG_INLINE T to_register(T x) { return x; }
SG_INLINE float to_register(half_t x) { return to_float(x); }
SG_INLINE float to_register(bfloat_t x) { return to_float(x); }

/* The float that rounds to the same float16: to odd, so that the second rounding sees the first. */
SG_INLINE float to_odd(double x) {
  const float nearest = float(x);
  const uint32_t bits = bits_as<uint32_t>(nearest);
  const bool moves = !(bits & 1) && x == x && double(nearest) != x;
  return moves ? bits_as<float>(bits + (fabs(x) > fabs(double(nearest)) ? 1u : 0xffffffffu)) : nearest;
}

template <class T> SG_INLINE T wrap_add(T a, T b) {
  typedef typename Wrapping<T>::type U;
  return T(U(a) + U(b));
}
template <class T> SG_INLINE T wrap_sub(T a, T b) {
  typedef typename Wrapping<T>::type U;
  return T(U(a) - U(b));
}
template <class T> SG_INLINE T wrap_mul(T a, T b) {
  typedef typename Wrapping<T>::type U;
  return T(U(a) * U(b));
}
/* A number that the compiler does not know to be `x`: what was made of `x` is not kept for it. */
SG_INLINE int anew(int x) {
#ifndef SG_HOST
  asm volatile("" : "+r"(x));
#endif
  return x;
}
/* The same for the assembler as well, which sees through `anew`. All threads of the warp must call it. */
SG_INLINE int anew_in_warp(int x) {
#ifndef SG_HOST
  return __shfl_sync(SG_FULL, x, threadIdx.x % 32);
#else
  return x;
#endif
}
SG_INLINE uint64_t wide_mul(uint32_t a, uint32_t b) { return uint64_t(__umulhi(a, b)) << 32 | a * b; }
template <class T> SG_INLINE T wrap_neg(T a) { return wrap_sub(T(0), a); }
template <class T> SG_INLINE T wrap_abs(T a) { return a < T(0) ? wrap_neg(a) : a; }

/* Of integers; a zero divisor gives 0. The quotient of the least integer and -1 is the least integer. */
template <class T> SG_INLINE T trunc_div(T a, T b) {
  if (b == T(0)) return T(0);
  if (Least<T>::is_signed && b == T(-1)) return wrap_neg(a);
  return T(a / b);
}
template <class T> SG_INLINE T trunc_mod(T a, T b) {
  if (b == T(0) || (Least<T>::is_signed && b == T(-1))) return T(0);
  return T(a % b);
}
template <class T> SG_INLINE T floor_div(T a, T b) {
  const T quotient = trunc_div(a, b), rest = trunc_mod(a, b);
  return Least<T>::is_signed && rest != T(0) && (rest < T(0)) != (b < T(0)) ? T(quotient - T(1)) : quotient;
}
template <class T> SG_INLINE T floor_mod(T a, T b) {
  const T rest = trunc_mod(a, b);
  return Least<T>::is_signed && rest != T(0) && (rest < T(0)) != (b < T(0)) ? wrap_add(rest, b) : rest;
}
template <class T> SG_INLINE T power(T a, T b) {
  if (Least<T>::is_signed && b < T(0)) return a == T(1) ? T(1) : a == T(-1) ? (b & 1 ? T(-1) : T(1)) : T(0);
  T result = T(1);
  for (; b != T(0); b = T(b >> 1), a = wrap_mul(a, a)) if (b & 1) result = wrap_mul(result, a);
  return result;
}
template <class T> SG_INLINE int shift_by(T b) {
  const T most = T(sizeof(T) * 8 - 1);
  return b < T(0) ? 0 : b > most ? int(most) : int(b);
}
template <class T> SG_INLINE T shift_left(T a, T b) {
  typedef typename Wrapping<T>::type U;
  return T(U(a) << shift_by(b));
}
template <class T> SG_INLINE T shift_right(T a, T b) { return T(a >> shift_by(b)); }

/* NaN if either is. */
template <class T> SG_INLINE T minimum(T a, T b) { return a < b || a != a ? a : b; }
template <class T> SG_INLINE T maximum(T a, T b) { return a > b || a != a ? a : b; }
#if !defined(SG_HOST) && __CUDA_ARCH__ >= 800
SG_INLINE float minimum(float a, float b) {
  float least;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(a), "f"(b));
  return least;
}
SG_INLINE float maximum(float a, float b) {
  float most;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(a), "f"(b));
  return most;
}
#endif

SG_INLINE float floor_mod(float a, float b) {
  const float rest = fmodf(a, b);
  return rest == 0.0f ? copysignf(0.0f, b) : (rest < 0.0f) != (b < 0.0f) ? rest + b : rest;
}
SG_INLINE double floor_mod(double a, double b) {
  const double rest = fmod(a, b);
  return rest == 0.0 ? copysign(0.0, b) : (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}

/* A difference whose operands are rounded before, though one is a product. */
SG_INLINE float exact_sub(float a, float b) {
#ifndef SG_HOST
  return __fsub_rn(a, b);
#else
  return a - b;
#endif
}
SG_INLINE double exact_sub(double a, double b) {
#ifndef SG_HOST
  return __dsub_rn(a, b);
#else
  return a - b;
#endif
}

/* Towards zero; what does not fit becomes the nearest that does, NaN 0. */
template <class To, class From> SG_INLINE To saturated(From x) {
  const From low = From(Least<To>::value);
  const From high = From(uint64_t(1) << (Least<To>::bits - 1)) * From(Least<To>::is_signed ? 1 : 2);
  if (!(x > low)) return x == x ? Least<To>::value : To(0);
  return x >= high ? To(~Least<To>::value) : To(x);
}

SG_INLINE float wrap_add(float a, float b) { return a + b; }
SG_INLINE double wrap_add(double a, double b) { return a + b; }
SG_INLINE bool wrap_add(bool a, bool b) { return a || b; }
SG_INLINE float wrap_mul(float a, float b) { return a * b; }
SG_INLINE double wrap_mul(double a, double b) { return a * b; }
SG_INLINE bool wrap_mul(bool a, bool b) { return a && b; }
template <class T> struct Fit { static SG_MEMBER T of(T x) { return x; } };
template <> struct Fit<half_t> { static SG_MEMBER float of(float x) { return rounded<half_t>(x); } };
template <> struct Fit<bfloat_t> { static SG_MEMBER float of(float x) { return rounded<bfloat_t>(x); } };

/* Combiners of numbers that are T in memory. */
#define SG_COMBINER(name, result)               \
  template <class T> struct name {              \
    typedef typename Register<T>::type R;       \
    static SG_MEMBER R of(R a, R b) { return Fit<T>::of(result); } \
  };
SG_COMBINER(Add, wrap_add(a, b))
SG_COMBINER(Mul, wrap_mul(a, b))
SG_COMBINER(Minimum, minimum(a, b))
SG_COMBINER(Maximum, maximum(a, b))
SG_COMBINER(And, R(a & b))
SG_COMBINER(Or, R(a | b))

template <class R> struct Shuffled { typedef R type; };  // what a GPU can shuffle
template <> struct Shuffled<int8_t> { typedef int type; };
template <> struct Shuffled<int16_t> { typedef int type; };
template <> struct Shuffled<uint8_t> { typedef int type; };
template <> struct Shuffled<uint16_t> { typedef int type; };
template <> struct Shuffled<bool> { typedef int type; };
template <class R> SG_INLINE R shuffle_xor(R x, int distance) {
  return R(__shfl_xor_sync(SG_FULL, typename Shuffled<R>::type(x), distance));
}

/* The numbers of neighbouring threads, so many and a power of 2 at most 32, combined; each of them has the
   result, and the same one. All threads of the warp must call it. */
template <class Combiner, int threads = 32>
SG_INLINE typename Combiner::R warp_reduce(typename Combiner::R x) {
#pragma unroll
  for (int distance = threads / 2; distance > 0; distance /= 2) x = Combiner::of(x, shuffle_xor(x, distance));
  return x;
}
/* The same of threads that are `lanes` apart in their warp. */
template <class Combiner, int lanes> SG_INLINE typename Combiner::R stride_reduce(typename Combiner::R x) {
#pragma unroll
  for (int distance = lanes; distance < 32; distance *= 2) x = Combiner::of(x, shuffle_xor(x, distance));
  return x;
}
/* The two halves of `block_reduce`, with a barrier between them. */
template <class Combiner> SG_INLINE void warp_part(typename Combiner::R x, typename Combiner::R* partial) {
  x = warp_reduce<Combiner>(x);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = x;
}
template <class Combiner, int threads>
SG_INLINE typename Combiner::R of_warps(const typename Combiner::R* partial) {
  constexpr int warps = threads / 32;
  if (warps > 4 && (warps & (warps - 1)) == 0) {
    return warp_reduce<Combiner, (warps & (warps - 1)) == 0 ? warps : 1>(partial[threadIdx.x % warps]);
  }
  typename Combiner::R x = partial[0];
#pragma unroll
  for (int warp = 1; warp < warps; warp++) x = Combiner::of(x, partial[warp]);
  return x;
}
/* The numbers of all `threads` of a block, which are a multiple of 32 at most 1024 and numbered along x;
   `partial` is shared memory for one number per warp. Each has the result. All threads must call it. */
template <class Combiner, int threads>
SG_INLINE typename Combiner::R block_reduce(typename Combiner::R x, typename Combiner::R* partial) {
  if (threads == 32) return warp_reduce<Combiner>(x);
  __syncthreads();  // those before may still read `partial`
  warp_part<Combiner>(x, partial);
  __syncthreads();
  return of_warps<Combiner, threads>(partial);
}

/* The nearest number that a tensor core takes: with 11 bits. Each float16 and bfloat16 is one. */
SG_INLINE float to_tensor(float x) {
#if !defined(SG_HOST) && __CUDA_ARCH__ >= 800
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits_as<float>(bits);
#else
  return x - x == 0.0f ? bits_as<float>((bits_as<uint32_t>(x) + 0x1000u) & 0xffffe000u) : x;
#endif
}
/* sums += left @ right by the warp: 16 x 8 numbers by 8 x 8. Lane 4 g + t has, for each i,
   left[g + 8 (i % 2)][t + 4 (i / 2)], right[t + 4 i][g] and sums[g + 8 (i / 2)][2 t + i % 2]. */
SG_INLINE void multiply_in_warp(float (&sums)[4], const float (&left)[4], const float (&right)[2]) {
#if !defined(SG_HOST) && __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(bits_as<uint32_t>(left[0])), "r"(bits_as<uint32_t>(left[1])), "r"(bits_as<uint32_t>(left[2])),
        "r"(bits_as<uint32_t>(left[3])), "r"(bits_as<uint32_t>(right[0])), "r"(bits_as<uint32_t>(right[1])));
#else
  const int row = threadIdx.x & 28, column = (threadIdx.x & 3) * 8;
#pragma unroll
  for (int k = 0; k < 8; k++) {
    const float upper = __shfl_sync(SG_FULL, left[k / 4 * 2], row + k % 4);
    const float lower = __shfl_sync(SG_FULL, left[k / 4 * 2 + 1], row + k % 4);
    const float first = __shfl_sync(SG_FULL, right[k / 4], column + k % 4);
    const float second = __shfl_sync(SG_FULL, right[k / 4], column + 4 + k % 4);
    sums[0] += upper * first;
    sums[1] += upper * second;
    sums[2] += lower * first;
    sums[3] += lower * second;
  }
#endif
}

/* Copies to shared memory, which are there when the thread has awaited them, and for others after a barrier.
   What is not `there` is zero, and is not read. Copies belong together up to where they are closed; all but
   the last so many of such groups can be awaited. */
template <class T> SG_INLINE void copy_later(T* to, const T* from, bool there) {
#ifdef SG_HOST
  __pipeline_memcpy_async(to, from, sizeof(T), there ? 0 : sizeof(T));
#elif __CUDA_ARCH__ >= 800
  const uint32_t at = uint32_t(__cvta_generic_to_shared(to));
  const uint32_t bytes = there ? sizeof(T) : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
               :: "r"(at), "l"(from), "n"(sizeof(T)), "r"(bytes) : "memory");
#else
  if (there) *to = *from;
  else *to = T();
#endif
}
template <class T> SG_INLINE void copy_later(T* to, const T* from) {
#ifdef SG_HOST
  __pipeline_memcpy_async(to, from, sizeof(T), 0);
#elif __CUDA_ARCH__ >= 800
  const uint32_t at = uint32_t(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" :: "r"(at), "l"(from), "n"(sizeof(T)) : "memory");
#else
  *to = *from;
#endif
}
/* The same place, computed once: what is added to it later stays an addition to it. */
template <class T> SG_INLINE const T* settled(const T* place) {
#ifndef SG_HOST
  asm("" : "+l"(place));
#endif
  return place;
}
/* What has been read is read here, not where it is used: a compiler would put that off. */
template <class T> SG_INLINE void read_now(T& x) {
#ifndef SG_HOST
  if constexpr (sizeof(T) == 8) asm volatile("" : "+d"(x));
  else if constexpr (sizeof(T) == 4) asm volatile("" : "+f"(x));
  else asm volatile("" : "+h"(x.bits));
#endif
}
SG_INLINE void close_copies() {
#ifdef SG_HOST
  __pipeline_commit();
#elif __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int n> SG_INLINE void await_copies() {
#ifdef SG_HOST
  __pipeline_wait_prior(n);
#elif __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory");
#endif
}
