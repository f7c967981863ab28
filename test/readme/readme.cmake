# SPDX-License-Identifier: Apache-2.0
#
# Every C++ block of the README compiles.

set(readme ${PROJECT_SOURCE_DIR}/README.md)
if(EXISTS ${readme})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${readme} ${CMAKE_CURRENT_SOURCE_DIR}/readme/extract.awk)
  set(blocks_folder ${CMAKE_CURRENT_BINARY_DIR}/readme)
  file(REMOVE_RECURSE ${blocks_folder})
  file(MAKE_DIRECTORY ${blocks_folder})
  execute_process(COMMAND awk -v out=${blocks_folder} -f ${CMAKE_CURRENT_SOURCE_DIR}/readme/extract.awk ${readme}
                  OUTPUT_VARIABLE blocks RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "The code blocks of ${readme} cannot be read.")
  endif()
  string(STRIP "${blocks}" blocks)
  string(REPLACE "\n" ";" blocks "${blocks}")
  if(blocks)
    add_library(readme_blocks OBJECT ${blocks})
    target_link_libraries(readme_blocks PRIVATE tutti_program)
    target_compile_options(readme_blocks PRIVATE -Wno-unused)
    if(TARGET tutti::nn)
      target_link_libraries(readme_blocks PRIVATE tutti::nn)
    endif()
    tutti_check_with_second_compiler(readme_blocks -Wno-unused)
  endif()
endif()
