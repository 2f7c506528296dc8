# Kernel sources travel inside the executable, so that an installed wavetune needs no source tree. Each *.hip and *.h.hip
# under FOLDER becomes one entry of templates::embedded_source(path).
function(wavetune_embed_sources target folder)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.hip)
  set(out ${CMAKE_BINARY_DIR}/generated/embedded_sources.cpp)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR} "-DFILES=${files}" -DOUT=${out}
      -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
  target_sources(${target} PRIVATE ${out})
endfunction()
