# SPDX-License-Identifier: Apache-2.0
#
# Tests with kernels: nvcc compiles them, for all else they are as the others.

if(TARGET tutti::cuda)
  find_package(CUDAToolkit ${tutti_cuda} QUIET)
  set(tutti_nvcc_flags ${tutti_nvcc_flags} -DBOOST_TEST_DYN_LINK)
  string(REPLACE sm_ compute_ TUTTI_CUDA_ARCH ${TUTTI_CUDA_ARCH})  # the text of kernels is enough
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cuda/*.cu)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    string(PREPEND name cuda_)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.o)
    tutti_compile_by_nvcc(${object} ${source} ${PROJECT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR})
    tutti_read_test_words(${source} words)
    add_executable(${name} ${object})
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
    target_link_libraries(${name} PRIVATE tutti_program tutti::compiled test_base Boost::unit_test_framework tutti::cuda)
    add_test(NAME ${name} COMMAND ${name} --report_level=no --log_level=test_suite --color_output=no)
    tutti_apply_test_words(${name} cuda "${words}")
  endforeach()
endif()
