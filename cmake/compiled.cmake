# SPDX-License-Identifier: Apache-2.0
#
# tutti::compiled, and tutti::nn_compiled for the trainer: the cold code, compiled once, for programs that would not
# compile it in each of their units. Linking them defines TUTTI_SEPARATE_COMPILATION. They are made where they are used,
# with the flags that are used there. Used by the build and, installed, by the package configuration.

function(tutti_add_library name source)
  if(NOT TARGET tutti_${name})
    add_library(tutti_${name} STATIC EXCLUDE_FROM_ALL ${source})
    set_target_properties(tutti_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(tutti_${name} PUBLIC ${ARGN})
    target_compile_definitions(tutti_${name} PUBLIC TUTTI_SEPARATE_COMPILATION)
    add_library(tutti::${name} ALIAS tutti_${name})
  endif()
endfunction()

# tutti_add_compiled(<folder of the headers>): a target for each component that is there.
function(tutti_add_compiled include)
  if(TARGET tutti::tutti)
    tutti_add_library(compiled ${include}/tutti/compiled.cpp tutti::tutti)
  endif()
  if(TARGET tutti::nn)
    tutti_add_library(nn_compiled ${include}/tutti/nn/compiled.cpp tutti::nn tutti::compiled)
  endif()
endfunction()
