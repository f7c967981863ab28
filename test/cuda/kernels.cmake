# SPDX-License-Identifier: Apache-2.0
#
# Tests with kernels: compiled by nvcc, otherwise like the others.

if(TARGET tutti::cuda AND CUDAToolkit_NVCC_EXECUTABLE)
  # tutti_add_test_with_kernels(<source>)
  function(tutti_add_test_with_kernels source)
    set(tutti_nvcc_flags ${tutti_nvcc_flags} -DBOOST_TEST_DYN_LINK -Xcompiler=-Og)
    string(REPLACE sm_ compute_ TUTTI_CUDA_ARCH ${TUTTI_CUDA_ARCH})  # the text of kernels is enough
    cmake_path(GET source STEM name)
    string(PREPEND name cuda_)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.o)
    tutti_compile_by_nvcc(${object} ${source} ${PROJECT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR})
    tutti_read_test_words(${source} words)
    add_executable(${name} ${object})
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
    target_link_libraries(
      ${name} PRIVATE tutti_program tutti::compiled test_base Boost::unit_test_framework tutti::cuda)
    add_test(NAME ${name} COMMAND ${name} --report_level=no --log_level=test_suite --color_output=no)
    tutti_apply_test_words(${name} cuda "${words}")
  endfunction()

  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cuda/*.cu)
  foreach(source IN LISTS sources)
    tutti_add_test_with_kernels(${source})
  endforeach()

  # The programs of bench/gpu are built once. On a GPU they check all values, and otherwise report that they are
  # skipped. They also run on the emulated GPU, which interprets the text of kernels and replaces NVIDIA's libraries.
  tutti_takes_turn(cuda_bench takes_turn)
  if(NOT takes_turn)
    return()
  endif()
  set(bench sh ${PROJECT_SOURCE_DIR}/bench/gpu/run --into ${CMAKE_CURRENT_BINARY_DIR}/cuda_bench --part kernels)
  add_test(NAME cuda_bench_builds COMMAND ${bench} --part transports --build-only)
  add_test(NAME cuda_bench COMMAND ${bench} --built)
  set_tests_properties(cuda_bench_builds PROPERTIES FIXTURES_SETUP cuda_bench COST 200
                       ENVIRONMENT "NVCC_APPEND_FLAGS=-cudart shared --no-compress;TUTTI_CUDA_ARCH=${TUTTI_CUDA_ARCH}")
  set_tests_properties(cuda_bench PROPERTIES FIXTURES_REQUIRED cuda_bench SKIP_RETURN_CODE 77
                       ENVIRONMENT LD_LIBRARY_PATH=${CUDAToolkit_LIBRARY_DIR})
  set_tests_properties(cuda_bench_builds cuda_bench PROPERTIES TIMEOUT 900 LABELS cuda)
  tutti_test_needs(cuda_bench_builds)
  tutti_test_needs(cuda_bench)
endif()
