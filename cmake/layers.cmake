# sr_layer(NAME USES layers... LIBS libs...): src/NAME/*.c becomes libsr_NAME.
# A layer without sources yet is an interface library, so that the order can be stated from the start.
function(sr_glob target folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.c ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/(noop_extproc|\\.venv)/")
  target_sources(${target} PRIVATE ${sources})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
                             ${PROJECT_SOURCE_DIR})
endfunction()

# Layers that compute with sizes, offsets and numbers of strangers: no conversion that may change a value goes unseen.
set(SR_CONVERSION_LAYERS base observe net text json model kernel infer config probe signal decide cache pool select dialect translate router
    store serve mock)

function(sr_layer name)
  cmake_parse_arguments(ARG "" "" "USES;LIBS" ${ARGN})
  list(TRANSFORM ARG_USES PREPEND sr_)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.c ${PROJECT_SOURCE_DIR}/src/${name}/*.cc)
  if(sources)
    add_library(sr_${name} STATIC)
    sr_glob(sr_${name} src/${name})
    if(name IN_LIST SR_CONVERSION_LAYERS)
      target_compile_options(sr_${name} PRIVATE $<$<COMPILE_LANGUAGE:C>:-Wconversion>)
    endif()
    target_link_libraries(sr_${name} PUBLIC ${ARG_USES} ${ARG_LIBS})
  else()
    add_library(sr_${name} INTERFACE)
    target_include_directories(sr_${name} INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(sr_${name} INTERFACE ${ARG_USES} ${ARG_LIBS})
  endif()
endfunction()

# sr_embed(LAYER SYMBOL FILE): links FILE's bytes into the layer as sr_embed_SYMBOL .. sr_embed_SYMBOL_end.
function(sr_embed layer symbol file)
  set(path ${PROJECT_SOURCE_DIR}/${file})
  if(NOT EXISTS ${path})
    message(FATAL_ERROR "${file} is missing: it is part of the repository")
  endif()
  set(asm ${PROJECT_BINARY_DIR}/embed/${symbol}.S)
  file(CONFIGURE OUTPUT ${asm} CONTENT [[
    .section .rodata
    .balign 64
    .global sr_embed_@symbol@
    .global sr_embed_@symbol@_end
    .hidden sr_embed_@symbol@
    .hidden sr_embed_@symbol@_end
sr_embed_@symbol@:
    .incbin "@path@"
sr_embed_@symbol@_end:
    .byte 0
    .section .note.GNU-stack,"",%progbits
]] @ONLY)
  set_source_files_properties(${asm} PROPERTIES OBJECT_DEPENDS ${path})
  target_sources(sr_${layer} PRIVATE ${asm})
endfunction()

# sr_protobuf(TARGET): proto/*.proto becomes a library by protoc-c; its headers lie in build/proto.
function(sr_protobuf target)
  set(out ${PROJECT_BINARY_DIR}/proto)
  file(MAKE_DIRECTORY ${out})
  file(GLOB protos CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/proto/*.proto)
  set(sources)
  foreach(proto ${protos})
    get_filename_component(name ${proto} NAME_WE)
    add_custom_command(OUTPUT ${out}/${name}.pb-c.c ${out}/${name}.pb-c.h
                       COMMAND ${PROTOC_C} --c_out=${out} --proto_path=${PROJECT_SOURCE_DIR}/proto ${name}.proto
                       DEPENDS ${proto} VERBATIM)
    list(APPEND sources ${out}/${name}.pb-c.c)
  endforeach()
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} SYSTEM PUBLIC ${out})
  target_compile_options(${target} PRIVATE -Wno-missing-braces)
  target_link_libraries(${target} PUBLIC PkgConfig::PROTOBUF_C)
  target_compile_options(${target} PRIVATE -Wno-missing-braces) # generated code
endfunction()
