# Install script: copies NVRTC and the library of built-ins that it loads to lib/, where $ORIGIN/../lib finds them. Needs
# wavetune_prefix and wavetune_nvrtc_folders, of which the first that holds NVRTC counts.
foreach(folder ${wavetune_nvrtc_folders})
  if(NOT folder OR NOT IS_DIRECTORY "${folder}")
    continue()
  endif()
  file(GLOB_RECURSE libraries "${folder}/libnvrtc.so.*" "${folder}/libnvrtc-builtins.so.*")
  if(libraries)
    file(INSTALL ${libraries} DESTINATION "${wavetune_prefix}/lib" FOLLOW_SYMLINK_CHAIN)
    # The wheel keeps NVIDIA's licence beside the libraries.
    file(GLOB_RECURSE licences "${folder}/*nvrtc*/License.txt" "${folder}/*nvrtc*/LICENSE*")
    foreach(licence ${licences})
      configure_file("${licence}" "${wavetune_prefix}/share/doc/wavetune/licences/nvrtc.txt" COPYONLY)
    endforeach()
    return()
  endif()
endforeach()
message(FATAL_ERROR "no libnvrtc.so.* below ${wavetune_nvrtc_folders}: run ./setup.sh once (it lays a private copy under "
  ".cuda/), or name its folder with -DWAVETUNE_NVRTC_DIR=DIR")
