// Its presence asks for launches that overlap with the kernel before (programmatic dependent launch).
extern "C" __device__ const int wt_overlaps_predecessor = 1;
