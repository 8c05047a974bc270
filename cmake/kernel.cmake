# One file of src/kernel per instruction set, with its own flags; they are only called where the CPU has the set.
# With sanitizers no files take the compiler longer than these; -O1 saves a part of it.
set(level -O3)
if(SR_SANITIZE)
  set(level -O1)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(avx2 -mavx2 -mfma -mf16c)
  set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
  set(kernel ${PROJECT_SOURCE_DIR}/src/kernel)
  set_source_files_properties(${kernel}/ops_avx2.c PROPERTIES COMPILE_OPTIONS "${level};${avx2}")
  set_source_files_properties(${kernel}/ops_avx512.c PROPERTIES COMPILE_OPTIONS "${level};${avx512}")
  set_source_files_properties(${kernel}/ops_avx512_bf16.c
                              PROPERTIES COMPILE_OPTIONS "${level};${avx512};-mavx512vnni;-mavx512bf16")
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/kernel/ops_neon.c
                              PROPERTIES COMPILE_OPTIONS "${level};-march=armv8.2-a+dotprod")
endif()
