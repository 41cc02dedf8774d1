// What CUDA's device code finds without any include: vector types, conversions, and its own names of functions.
#ifndef SIMT_DIALECT_H
#define SIMT_DIALECT_H
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>

struct alignas(2) char2 { signed char x, y; };
struct alignas(4) char4 { signed char x, y, z, w; };
struct alignas(2) uchar2 { unsigned char x, y; };
struct alignas(4) uchar4 { unsigned char x, y, z, w; };
struct alignas(4) short2 { short x, y; };
struct alignas(8) short4 { short x, y, z, w; };
struct alignas(4) ushort2 { unsigned short x, y; };
struct alignas(8) ushort4 { unsigned short x, y, z, w; };
struct alignas(8) int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(16) longlong2 { long long x, y; };
struct alignas(16) ulonglong2 { unsigned long long x, y; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) double2 { double x, y; };
#define SIMT_MAKE2(type, part) \
  static inline type make_##type(part x, part y) { return type{x, y}; }
#define SIMT_MAKE4(type, part) \
  static inline type make_##type(part x, part y, part z, part w) { return type{x, y, z, w}; }
SIMT_MAKE2(char2, signed char) SIMT_MAKE4(char4, signed char)
SIMT_MAKE2(uchar2, unsigned char) SIMT_MAKE4(uchar4, unsigned char)
SIMT_MAKE2(short2, short) SIMT_MAKE4(short4, short)
SIMT_MAKE2(ushort2, unsigned short) SIMT_MAKE4(ushort4, unsigned short)
SIMT_MAKE2(int2, int) SIMT_MAKE4(int4, int)
SIMT_MAKE2(uint2, unsigned) SIMT_MAKE4(uint4, unsigned)
SIMT_MAKE2(longlong2, long long) SIMT_MAKE2(ulonglong2, unsigned long long)
SIMT_MAKE2(float2, float) SIMT_MAKE4(float4, float)
SIMT_MAKE2(double2, double)


// Bits.
template <class To, class From> static inline To simt_bits(From x) {
  static_assert(sizeof(To) == sizeof(From), "as many bits");
  To y;
  memcpy(&y, &x, sizeof y);
  return y;
}
static inline float __uint_as_float(unsigned x) { return simt_bits<float>(x); }
static inline float __int_as_float(int x) { return simt_bits<float>(x); }
static inline unsigned __float_as_uint(float x) { return simt_bits<unsigned>(x); }
static inline int __float_as_int(float x) { return simt_bits<int>(x); }
static inline double __longlong_as_double(long long x) { return simt_bits<double>(x); }
static inline long long __double_as_longlong(double x) { return simt_bits<long long>(x); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((uint64_t(a) * b) >> 32); }
static inline int __mulhi(int a, int b) { return int((int64_t(a) * b) >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
static inline long long __mul64hi(long long a, long long b) { return (long long)(((__int128)a * b) >> 64); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  return by &= 31, by ? high << by | low >> (32 - by) : high;
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return by &= 31, by ? high << (32 - by) | low >> by : low;
}

// Conversions as a card does them: what does not fit becomes the nearest that does; NaN becomes 0, or, where
// either side has 64 bits, the highest bit alone.
template <class To, class From> static inline To simt_convert(From x) {
  constexpr bool wide = sizeof(To) == 8 || sizeof(From) == 8;
  constexpr To least = To(-1) < To(0) ? To(To(1) << (8 * sizeof(To) - 1)) : To(0);
  if (x != x) return wide ? To(To(1) << (8 * sizeof(To) - 1)) : To(0);
  if (x <= From(least)) return least;
  if (x >= From(To(~least))) return To(~least);
  return To(x);
}
#define SIMT_CONVERSIONS(from, name, to, target) \
  static inline to __##name##2##target##_rz(from x) { return simt_convert<to>(x); } \
  static inline to __##name##2##target##_rn(from x) { return simt_convert<to>(std::nearbyint(x)); } \
  static inline to __##name##2##target##_rd(from x) { return simt_convert<to>(std::floor(x)); } \
  static inline to __##name##2##target##_ru(from x) { return simt_convert<to>(std::ceil(x)); }
SIMT_CONVERSIONS(float, float, int, int) SIMT_CONVERSIONS(float, float, unsigned, uint)
SIMT_CONVERSIONS(float, float, long long, ll) SIMT_CONVERSIONS(float, float, unsigned long long, ull)
SIMT_CONVERSIONS(double, double, int, int) SIMT_CONVERSIONS(double, double, unsigned, uint)
SIMT_CONVERSIONS(double, double, long long, ll) SIMT_CONVERSIONS(double, double, unsigned long long, ull)
static inline float __int2float_rn(int x) { return float(x); }
static inline float __uint2float_rn(unsigned x) { return float(x); }
static inline float __ll2float_rn(long long x) { return float(x); }
static inline float __ull2float_rn(unsigned long long x) { return float(x); }
static inline double __int2double_rn(int x) { return x; }
static inline double __uint2double_rn(unsigned x) { return x; }
static inline double __ll2double_rn(long long x) { return double(x); }
static inline double __ull2double_rn(unsigned long long x) { return double(x); }
static inline float __double2float_rn(double x) { return float(x); }

// Arithmetic that is rounded once and never contracted, and its fast forms.
#define SIMT_ARITHMETIC(type, f, d) \
  static inline type __##f##add_rn(type a, type b) { return a + b; } \
  static inline type __##d##sub_rn(type a, type b) { return a - b; } \
  static inline type __##f##mul_rn(type a, type b) { return a * b; }
SIMT_ARITHMETIC(float, f, f) SIMT_ARITHMETIC(double, d, d)
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline double __dsqrt_rn(double x) { return sqrt(x); }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
static inline float __saturatef(float x) { return x > 0.0f ? x < 1.0f ? x : 1.0f : 0.0f; }
static inline float __fdividef(float a, float b) { return a / b; }
// The host's own library has these names for itself.
#define __expf(x) expf(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __powf(x, y) powf(x, y)
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
static inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
static inline float sinpif(float x) { return sinf(float(M_PI) * x); }
static inline float cospif(float x) { return cosf(float(M_PI) * x); }

// As overloads, where the language of the host has none in the global namespace.
#define SIMT_ORDER(type) \
  static inline type min(type a, type b) { return b < a ? b : a; } \
  static inline type max(type a, type b) { return a < b ? b : a; }
SIMT_ORDER(int) SIMT_ORDER(unsigned) SIMT_ORDER(long) SIMT_ORDER(unsigned long)
SIMT_ORDER(long long) SIMT_ORDER(unsigned long long)
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }

// Memory. Threads take turns, so that what is atomic on a card needs nothing here.
#define SIMT_UNSEEN __attribute__((no_sanitize("thread")))  // by the search for data races
namespace simt { static inline void races_change(const void*, size_t); }
template <class T> static inline T __ldg(const T* p) { return *p; }
template <class T> static inline T __ldcs(const T* p) { return *p; }
template <class T> static inline void __stcs(T* p, T value) { *p = value; }
#define SIMT_ATOMIC(name, result) \
  template <class T> SIMT_UNSEEN static inline T atomic##name(T* p, T v) { \
    static_assert(T(1) / T(2) == T(0), "atomic operations on integers only: results would depend on the order"); \
    simt::races_change(p, sizeof(T)); \
    const T old = *p; \
    *p = (result); \
    return old; \
  }
SIMT_ATOMIC(Add, old + v) SIMT_ATOMIC(Min, v < old ? v : old) SIMT_ATOMIC(Max, old < v ? v : old)
SIMT_ATOMIC(And, old & v) SIMT_ATOMIC(Or, old | v) SIMT_ATOMIC(Xor, old ^ v) SIMT_ATOMIC(Exch, v)
template <class T> SIMT_UNSEEN static inline T atomicCAS(T* p, T expected, T v) {
  simt::races_change(p, sizeof(T));
  const T old = *p;
  if (old == expected) *p = v;
  return old;
}

#endif
