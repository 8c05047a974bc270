# Manual pages and shell completions of a built program: cmake -DPROGRAM=semroute -DOUT=DIR -P manuals.cmake.
# DIR gets the layout of an installed share/.
function(print file)
  execute_process(COMMAND ${PROGRAM} help ${ARGN} OUTPUT_FILE ${OUT}/${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(MAKE_DIRECTORY ${OUT}/man/man1 ${OUT}/bash-completion/completions ${OUT}/zsh/site-functions
     ${OUT}/fish/vendor_completions.d)
print(bash-completion/completions/semroute --completion bash)
print(zsh/site-functions/_semroute --completion zsh)
print(fish/vendor_completions.d/semroute.fish --completion fish)
print(man/man1/semroute.1 --man)
execute_process(COMMAND ${PROGRAM} help --names OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[a-z]+" names "${names}")
foreach(name ${names})
  print(man/man1/semroute-${name}.1 --man ${name})
endforeach()
