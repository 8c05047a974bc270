# The kernels cross-built for aarch64 and checked under an emulator, as one small program without libraries; twice,
# for CPUs with and without dot products. Built as a part of all, so that running it is all that the test does.
file(GLOB kernel_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernel/*.c)
list(APPEND kernel_sources ${PROJECT_SOURCE_DIR}/src/base/mem.c ${CMAKE_CURRENT_LIST_DIR}/plain.c)
file(GLOB kernel_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernel/*.h)
list(APPEND kernel_headers ${PROJECT_SOURCE_DIR}/tests/unit/kernel_check.h)
set(kernel_flags -std=c17 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -fno-strict-aliasing
                 -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/tests)
set(kernel_objects)
foreach(source ${kernel_sources})
  get_filename_component(name ${source} NAME_WE)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/aarch64/${name}.o)
  set(extra)
  if(name STREQUAL ops_neon)
    set(extra -O3 -march=armv8.2-a+dotprod)
  endif()
  add_custom_command(OUTPUT ${object} COMMAND ${AARCH64_CC} ${kernel_flags} ${extra} -c ${source} -o ${object}
                     DEPENDS ${source} ${kernel_headers} VERBATIM)
  list(APPEND kernel_objects ${object})
endforeach()
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/aarch64)
set(program ${CMAKE_CURRENT_BINARY_DIR}/aarch64/kernels)
add_custom_command(OUTPUT ${program} COMMAND ${AARCH64_CC} -static ${kernel_objects} -o ${program} -lm -lpthread
                   DEPENDS ${kernel_objects} VERBATIM)
add_custom_target(kernels_aarch64 ALL DEPENDS ${program})
add_test(NAME kernels_aarch64 COMMAND ${QEMU_AARCH64} ${program})
add_test(NAME kernels_aarch64_without_dot COMMAND ${QEMU_AARCH64} -cpu cortex-a57 ${program})
