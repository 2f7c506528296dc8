# HIP's own headers give the types; nothing of ROCm is linked. A system ROCm >= 7 is preferred, else the private copy
# that setup.sh lays under .rocm/include (only hip/: the rest of that package would shadow the host's libc headers).
set(_candidates ${WAVETUNE_HIP_INCLUDE} $ENV{ROCM_PATH}/include /opt/rocm/include ${CMAKE_SOURCE_DIR}/.rocm/include)
set(WAVETUNE_HIP_FOUND "")
foreach(_dir ${_candidates})
  if(EXISTS ${_dir}/hip/hip_version.h)
    file(STRINGS ${_dir}/hip/hip_version.h _major REGEX "#define HIP_VERSION_MAJOR")
    string(REGEX MATCH "[0-9]+" _major "${_major}")
    if(_major GREATER_EQUAL 7)
      set(WAVETUNE_HIP_FOUND ${_dir})
      message(STATUS "HIP headers: ${_dir} (major ${_major})")
      break()
    endif()
    message(STATUS "HIP headers in ${_dir} are version ${_major}; wavetune needs 7 or newer")
  endif()
endforeach()
if(NOT WAVETUNE_HIP_FOUND)
  message(FATAL_ERROR "No HIP >= 7 headers found. Run ./setup.sh once (it lays a private copy under .rocm/), "
    "install ROCm >= 7, or pass -DWAVETUNE_HIP_INCLUDE=DIR with DIR/hip/hip_runtime_api.h.")
endif()
add_library(wavetune_hip_headers INTERFACE)
target_include_directories(wavetune_hip_headers SYSTEM INTERFACE ${WAVETUNE_HIP_FOUND})
target_compile_definitions(wavetune_hip_headers INTERFACE __HIP_PLATFORM_AMD__)
# The copy's compiler is used when no ROCm is installed: only this file needs to know where it is.
set_source_files_properties(${CMAKE_SOURCE_DIR}/runtime/hip/amd/hiprtc_install.cpp PROPERTIES
  COMPILE_DEFINITIONS "WAVETUNE_ROCM_COPY=\"${CMAKE_SOURCE_DIR}/.rocm\"")
# Likewise the copy of NVRTC that setup.sh lays under .cuda when no CUDA toolkit is installed.
set_source_files_properties(${CMAKE_SOURCE_DIR}/runtime/hip/cuda/nvrtc_install.cpp PROPERTIES
  COMPILE_DEFINITIONS "WAVETUNE_CUDA_COPY=\"${CMAKE_SOURCE_DIR}/.cuda\"")
