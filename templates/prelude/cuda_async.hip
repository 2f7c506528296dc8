// What kernels written for NVIDIA use beyond the other targets' vocabulary: asynchronous copies, mbarriers, barriers of
// part of a block, overlap with the kernels before and after. Addresses in LDS are lds_address(p).

namespace wt {

// Overlap with neighbours on the stream (sm_90 and newer, when launched with programmatic serialization; otherwise
// nothing). All threads that read what the kernel before wrote, or write anything to memory, wait first.

/// Waits until the kernels before have ended and their writes are visible.
__device__ inline void wait_for_predecessor() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" : : : "memory");
#endif
}
/// Lets the kernel after this one be started once all blocks have said so or ended.
__device__ inline void let_successor_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
#endif
}

/// 16 bytes of LDS.
__device__ inline chunk load_lds(u32 address) {
  chunk c;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(c.w[0]), "=r"(c.w[1]), "=r"(c.w[2]), "=r"(c.w[3])
               : "r"(address)
               : "memory");
  return c;
}
__device__ inline void store_lds(u32 address, const chunk& c) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "r"(address), "r"(c.w[0]), "r"(c.w[1]), "r"(c.w[2]), "r"(c.w[3])
               : "memory");
}

// Copies of 16 bytes from memory to LDS by a thread, in groups. None takes an L2 policy: ptxas 13.0 makes an illegal
// instruction of that for sm_90 when the LDS address has a part that is the same for all lanes.

/// Past the registers and L1. L2 fetches 128 bytes around it.
__device__ inline void copy_async(u32 lds, const void* p) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" : : "r"(lds), "l"(p) : "memory");
}
/// Zeros where `inside` is false; `p` is not read then but must be an address of global memory.
__device__ inline void copy_async_if(u32 lds, const void* p, bool inside) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
               :
               : "r"(lds), "l"(p), "r"(inside ? 16 : 0)
               : "memory");
}
/// 4 bytes, through L1: for scales and indices.
__device__ inline void copy_async_word_if(u32 lds, const void* p, bool inside) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" : : "r"(lds), "l"(p), "r"(inside ? 4 : 0) : "memory");
}
/// Closes this thread's group of copies.
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" : : : "memory"); }
/// Waits until at most N of this thread's newest groups are on their way. Other threads' copies: and a barrier.
template <int N>
__device__ inline void wait_copy_groups() {
  asm volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");
}

// Barriers of `threads` threads (whole waves) of a block. Number 0 is __syncthreads's; 1 to 15 are free.

__device__ inline void barrier_of(int number, int threads) {
  asm volatile("bar.sync %0, %1;" : : "r"(number), "r"(threads) : "memory");
}
/// The same without waiting for the others.
__device__ inline void barrier_of_arrive(int number, int threads) {
  asm volatile("bar.arrive %0, %1;" : : "r"(number), "r"(threads) : "memory");
}

// mbarriers: 8 bytes in LDS, 8-byte aligned. A phase ends when `count` arrivals and all expected bytes are there; waits
// name the phase by its parity (0 for the first). A fresh barrier counts as having ended the phase of parity 1.

/// One thread does it; then fence_barrier_init and a barrier of all that use it.
__device__ inline void barrier_init(u32 barrier, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(barrier), "r"(count) : "memory");
}
__device__ inline void barrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(barrier) : "memory");
}

#if __CUDA_ARCH__ >= 900
/// Makes barrier_init visible to the copy engines as well.
__device__ inline void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
}
/// Arrives, and the phase waits for `bytes` more bytes of copy_bulk.
__device__ inline void barrier_arrive_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(barrier), "r"(bytes) : "memory");
}
/// True when the phase of that parity has ended; waits for a short while before it says no.
__device__ inline bool barrier_try_wait(u32 barrier, u32 parity) {
  u32 ended;
  asm volatile(
      "{\n\t"
      ".reg .pred ended;\n\t"
      "mbarrier.try_wait.parity.shared::cta.b64 ended, [%1], %2;\n\t"
      "selp.u32 %0, 1, 0, ended;\n\t"
      "}"
      : "=r"(ended)
      : "r"(barrier), "r"(parity)
      : "memory");
  return ended != 0;
}
__device__ inline void barrier_wait(u32 barrier, u32 parity) {
  while (!barrier_try_wait(barrier, parity)) {
  }
}
/// The barrier gets an arrival of this thread's when all its copy_async so far have landed. It counts as one of the
/// barrier's `count`.
__device__ inline void barrier_arrive_after_copies(u32 barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" : : "r"(barrier) : "memory");
}

/// Neighbouring bytes from memory to LDS by the copy engine, for one thread to start: addresses and size are multiples
/// of 16. The barrier gets `bytes` bytes.
__device__ inline void copy_bulk(u32 lds, const void* p, u32 bytes, u32 barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               :
               : "r"(lds), "l"(p), "r"(bytes), "r"(barrier)
               : "memory");
}
/// This thread's ordinary LDS writes before it are seen by the copy engine and by wgmma after it.
__device__ inline void fence_async() { asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); }
#endif

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Registers of a thread, for all four waves of a warpgroup; a multiple of 8 from 24 to 256. The block's total stays
// within what it was launched with.
template <int Count>
__device__ inline void give_up_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(Count));
}
template <int Count>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(Count));
}
#endif

}  // namespace wt
