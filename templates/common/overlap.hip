// Marks the module: its kernels may be started before the kernel in front of them has ended, and they wait
// (wt::wait_for_predecessor) before they read what that wrote or write anything.
extern "C" __device__ const int wt_overlaps_predecessor = 1;
