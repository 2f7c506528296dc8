# `cmake --install BUILD --prefix DIR` and `cpack` make a folder that runs with nothing installed but glibc >= the build
# machine's and the GPU's driver:
#
#   bin/wavetune             finds what it needs through $ORIGIN/../lib
#   lib/                     every shared library that it is linked with, libstdc++ and libgcc_s too, but not the glibc family
#   share/wavetune/tuned/    tuned sets that `serve` can start from
#   share/doc/wavetune/      README.md, and for each bundled library the package that it came from with its licence
#
# NVRTC (about 90 MB) comes with `cmake --install BUILD --prefix DIR --component nvrtc`, and in the archive of a build that
# was configured with WAVETUNE_PACKAGE_NVRTC=ON.

# Only `wavetune` is installed: neither `install` nor cpack builds the tests first.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

# Not the newer RUNPATH: that one is not asked for what the bundled libraries themselves need, nor for what NVRTC loads.
target_link_options(wavetune PRIVATE LINKER:--disable-new-dtags)
set_target_properties(wavetune PROPERTIES INSTALL_RPATH "\$ORIGIN/../lib")

# What must be the target machine's own: libc and the libraries of its release, which only work together.
set(_glibc "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv|util|anl|nsl|mvec|BrokenLocale)\\.so")
install(TARGETS wavetune RUNTIME_DEPENDENCY_SET wavetune_libraries RUNTIME DESTINATION bin COMPONENT wavetune)
install(RUNTIME_DEPENDENCY_SET wavetune_libraries PRE_EXCLUDE_REGEXES ${_glibc} POST_EXCLUDE_REGEXES "/ld-linux"
  LIBRARY DESTINATION lib COMPONENT wavetune)
install(FILES README.md DESTINATION share/doc/wavetune COMPONENT wavetune)
install(CODE "set(wavetune_prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")" COMPONENT wavetune)
install(SCRIPT cmake/install_licences.cmake COMPONENT wavetune)

file(GLOB _tuned CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/db/tuned/*.json)
if(_tuned)
  install(FILES ${_tuned} DESTINATION share/wavetune/tuned COMPONENT wavetune)
endif()

# NVRTC and the library of built-ins that it loads: from the folder named, else from the private copy that setup.sh lays
# under .cuda/. Looked for when installing, so that a copy fetched later is found.
set(WAVETUNE_NVRTC_DIR "" CACHE PATH "Folder with libnvrtc.so.* to bundle; empty: look below .cuda/")
install(CODE "if(NOT DEFINED wavetune_nvrtc_folders)
  set(wavetune_nvrtc_folders \"${WAVETUNE_NVRTC_DIR}\" \"${CMAKE_SOURCE_DIR}/.cuda\")
endif()
set(wavetune_prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")" COMPONENT nvrtc EXCLUDE_FROM_ALL)
install(SCRIPT cmake/install_nvrtc.cmake COMPONENT nvrtc EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME wavetune)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Tunes and serves GLM-5.2 with the kernels that are fastest on this machine")
set(CPACK_RESOURCE_FILE_README ${CMAKE_SOURCE_DIR}/README.md)
set(CPACK_STRIP_FILES ON)
# One archive with one folder in it.
option(WAVETUNE_PACKAGE_NVRTC "cpack's archive contains NVRTC" OFF)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_COMPONENTS_ALL wavetune)
if(WAVETUNE_PACKAGE_NVRTC)
  list(APPEND CPACK_COMPONENTS_ALL nvrtc)
endif()
include(CPack)
