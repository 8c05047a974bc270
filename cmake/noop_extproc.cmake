# The no-op external processor that `semroute bench extproc` measures beside us. Never part of `all`: needs
# tools/debian-packages-bench.txt, so where those are missing there is no such target.
pkg_check_modules(GRPCXX IMPORTED_TARGET grpc++ protobuf)
find_program(PROTOC protoc)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin)
if(GRPCXX_FOUND AND PROTOC AND GRPC_CPP_PLUGIN)
  set(out ${PROJECT_BINARY_DIR}/noop_extproc)
  set(generated ${out}/ext_proc.pb.cc ${out}/ext_proc.grpc.pb.cc)
  file(MAKE_DIRECTORY ${out})
  add_custom_command(OUTPUT ${generated} ${out}/ext_proc.pb.h ${out}/ext_proc.grpc.pb.h
                     COMMAND ${PROTOC} --proto_path=${PROJECT_SOURCE_DIR}/proto --cpp_out=${out} --grpc_out=${out}
                             --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN} ext_proc.proto
                     DEPENDS ${PROJECT_SOURCE_DIR}/proto/ext_proc.proto VERBATIM)
  set_source_files_properties(${generated} PROPERTIES COMPILE_OPTIONS "-w")
  add_executable(bench_noop_extproc EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/bench/noop_extproc/server.cc ${generated})
  set_target_properties(bench_noop_extproc PROPERTIES OUTPUT_NAME noop_extproc RUNTIME_OUTPUT_DIRECTORY ${out})
  target_include_directories(bench_noop_extproc SYSTEM PRIVATE ${out})
  target_link_libraries(bench_noop_extproc PRIVATE PkgConfig::GRPCXX Threads::Threads)
else()
  add_custom_target(bench_noop_extproc COMMAND ${CMAKE_COMMAND} -E echo
                    "no libgrpc++-dev and protobuf-compiler-grpc: the no-op external processor is left out (tools/setup.sh bench)")
endif()
