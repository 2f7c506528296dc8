// How kernels begin that read little beside what the kernels in front of them wrote: on NVIDIA they are started while
// those still run, and the kernel behind is started early as well.

#if defined(WT_CUDA)
extern "C" __device__ const int wt_overlaps_predecessor = 1;
#endif

namespace overlap {

/// The first thing in the kernel, for all threads.
__device__ inline void begin() {
  wt::let_successor_start();
  wt::wait_for_predecessor();
}

}  // namespace overlap
