# SPDX-License-Identifier: Apache-2.0
#
# The CUDA tests, repeated on an emulated GPU: libraries named like CUDA's. One of them interprets the text of kernels
# (PTX). The programs are unchanged; the loader finds these libraries before NVIDIA's. See docs/hardware/devices.md.

if(NOT TARGET tutti::cuda OR NOT CUDAToolkit_NVCC_EXECUTABLE OR TUTTI_SANITIZE)
  return()
endif()
if(NOT TUTTI_CUDA_ARCH MATCHES "^(sm|compute)_[0-9]+$")  # else nvcc keeps no text of kernels
  message(STATUS "Tests on the emulated GPU are left out: they need TUTTI_CUDA_ARCH=sm_90, or another sm_<number>")
  return()
endif()

# tutti_add_emulated_library(<name> <version> <source>...): lib<name>.so.<version>, with NVIDIA's symbol versions.
function(tutti_add_emulated_library name version)
  set(target emulated_gpu_${name})
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/cuda/emulated_gpu/ OUTPUT_VARIABLE sources)
  add_library(${target} SHARED ${sources})
  target_link_libraries(${target} PRIVATE tutti_program)
  target_include_directories(${target} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS} ${cuDNN_INCLUDE_DIR})
  # No contraction: a GPU fuses a product and a sum only where the text says so.
  target_compile_options(${target} PRIVATE -O3 -ffp-contract=off)
  string(REGEX REPLACE "rt$" "" prefix ${name})
  set(map ${CMAKE_CURRENT_BINARY_DIR}/emulated_gpu_${name}.map)
  file(CONFIGURE OUTPUT ${map} @ONLY
       CONTENT "lib@name@.so.@version@ { global: @prefix@*; __@prefix@*; emulated_gpu_memory; local: *; };\n")
  target_link_options(${target} PRIVATE -Wl,--version-script=${map})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} SOVERSION ${version} LINK_DEPENDS ${map}
                                             LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/emulated_gpu)
endfunction()

find_package(CUDAToolkit ${tutti_cuda} QUIET)
tutti_add_emulated_library(cudart ${CUDAToolkit_VERSION_MAJOR} accesses.cpp allocation.cpp arithmetic.cpp capture.cpp
                           copy.cpp device.cpp driver.cpp program.cpp runtime.cpp stream.cpp work.cpp)
if(TARGET tutti::nn_cuda)
  tutti_add_emulated_library(cublas ${CUDAToolkit_VERSION_MAJOR} cublas.cpp)
  tutti_add_emulated_library(cudnn 9 cudnn.cpp cudnn_descriptors.cpp)
  foreach(library IN ITEMS cublas cudnn)
    target_link_libraries(emulated_gpu_${library} PRIVATE emulated_gpu_cudart)
  endforeach()
endif()

# tutti_add_test_on_emulated_gpu(<name> <target that it needs> <command>...). Its warps are threads on all processors:
# tests of ranks beside it would exceed their time, as ranks wait for each other.
function(tutti_add_test_on_emulated_gpu name needs)
  add_test(NAME emulated_gpu_${name} COMMAND ${ARGN})
  set(environment LD_LIBRARY_PATH=$<TARGET_FILE_DIR:emulated_gpu_cudart> CUDA_DEVICE_MAX_CONNECTIONS=32)
  set_tests_properties(emulated_gpu_${name} PROPERTIES TIMEOUT 300 LABELS emulated_gpu ENVIRONMENT "${environment}"
                                                       RUN_SERIAL ON FAIL_REGULAR_EXPRESSION "SKIPPED: ")
  set(libraries "")
  foreach(library IN ITEMS cudart cublas cudnn)
    if(TARGET emulated_gpu_${library})
      list(APPEND libraries emulated_gpu_${library})
    endif()
  endforeach()
  tutti_test_needs(emulated_gpu_${name} ${needs} ${libraries})
endfunction()

# bench/gpu compares all values whatever it measures, those of ranks on two devices included.
if(TEST cuda_bench_builds)
  tutti_add_test_on_emulated_gpu(
    bench "" ${CMAKE_COMMAND} -E env EMULATED_GPUS=2 ${bench} --part transports --built --bytes 65536)
  set_tests_properties(emulated_gpu_bench PROPERTIES TIMEOUT 900 FIXTURES_REQUIRED cuda_bench)
endif()

set(tests cuda_errors cuda_memory cuda_peers cuda_peer_processes cuda_staged)
if(TARGET tutti::nn_cuda)
  list(APPEND tests nn_cuda_math nn_cuda_replica nn_cuda_device_synchronous)
endif()
foreach(test IN LISTS tests)
  set(command $<TARGET_FILE:${test}> --report_level=no --log_level=test_suite --color_output=no)
  tutti_add_test_on_emulated_gpu(${test} ${test} ${command})
  if(test STREQUAL "cuda_peers")
    tutti_add_test_on_emulated_gpu(${test}_two_devices ${test} ${CMAKE_COMMAND} -E env EMULATED_GPUS=2 ${command})
  elseif(test STREQUAL "cuda_peer_processes")
    tutti_add_test_on_emulated_gpu(${test}_two_devices ${test} ${CMAKE_COMMAND} -E env EMULATED_GPUS=2 ${command}
                                   --run_test=*/other_operations,a_killed_process_is_named)
  endif()
endforeach()

# Small programs that the emulated GPU must run, or must end.
foreach(programs IN ITEMS right wrong)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/emulated_gpu_${programs}.o)
  tutti_compile_by_nvcc(${object} ${CMAKE_CURRENT_SOURCE_DIR}/cuda/emulated_gpu/${programs}.cu
                        ${PROJECT_SOURCE_DIR}/include)
  add_executable(${programs}_gpu_programs ${object})
  set_target_properties(${programs}_gpu_programs PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${programs}_gpu_programs PRIVATE tutti_program CUDA::cudart)
  tutti_add_test_on_emulated_gpu(${programs} ${programs}_gpu_programs ${programs}_gpu_programs)
endforeach()
set_tests_properties(emulated_gpu_wrong PROPERTIES RUN_SERIAL OFF)  # it mostly waits for what does not come
