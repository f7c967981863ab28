# SPDX-License-Identifier: Apache-2.0
#
# tutti::compiled, and tutti::nn_compiled and tutti::nn_images_compiled for the trainer: the cold code, compiled once
# instead of in each unit of a program; and tutti::nn_cuda, the trainer's GPU kernels. Linking any of them defines
# TUTTI_SEPARATE_COMPILATION. tutti::c and tutti::c_static are the interface for C, as a shared and a static library.
# All are built with the flags of the project that uses them. Used by the build and, installed, by the package
# configuration.

function(tutti_add_library name source)
  if(NOT TARGET tutti_${name})
    add_library(tutti_${name} STATIC EXCLUDE_FROM_ALL ${source})
    set_target_properties(tutti_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(tutti_${name} PUBLIC ${ARGN})
    target_compile_definitions(tutti_${name} PUBLIC TUTTI_SEPARATE_COMPILATION)
    add_library(tutti::${name} ALIAS tutti_${name})
  endif()
endfunction()

# Adds the interface for C as a shared library, which shows nothing but its functions, and as a static one.
function(tutti_add_c include)
  if(TARGET tutti::c)
    return()
  endif()
  add_library(tutti_c_objects OBJECT EXCLUDE_FROM_ALL ${include}/tutti/c/c.cpp)
  target_link_libraries(tutti_c_objects PRIVATE tutti::tutti)
  set_target_properties(tutti_c_objects PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
  add_library(tutti_c_shared SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:tutti_c_objects>)
  set(symbols ${include}/tutti/c/symbols.map)
  target_link_options(tutti_c_shared PRIVATE "LINKER:--version-script=${symbols}")
  set_target_properties(tutti_c_shared PROPERTIES LINK_DEPENDS ${symbols} SOVERSION 1)
  add_library(tutti::c ALIAS tutti_c_shared)
  add_library(tutti_c_static STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:tutti_c_objects>)
  add_library(tutti::c_static ALIAS tutti_c_static)
  foreach(library IN ITEMS tutti_c_shared tutti_c_static)
    target_include_directories(${library} INTERFACE ${include})
    target_link_libraries(${library} PRIVATE Threads::Threads)
    set_target_properties(${library} PROPERTIES OUTPUT_NAME tutti_c LINKER_LANGUAGE CXX)
  endforeach()
endfunction()

set(TUTTI_CUDA_ARCH sm_90 CACHE STRING "The GPUs that tutti::nn_cuda makes code for: what nvcc takes after -arch=")

# tutti_compile_by_nvcc(<object> <source> <folder of headers>...): compiles without the CMake language CUDA. nvcc always
# optimises the code of GPUs; flags in tutti_nvcc_flags may ask for that of the host, too.
function(tutti_compile_by_nvcc object source)
  find_package(CUDAToolkit ${tutti_cuda} QUIET)
  list(TRANSFORM ARGN PREPEND -I OUTPUT_VARIABLE folders)
  cmake_path(GET source FILENAME name)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -std=c++20 --expt-relaxed-constexpr -arch=${TUTTI_CUDA_ARCH}
            -Werror all-warnings -Xcompiler -fPIC -DTUTTI_SEPARATE_COMPILATION ${tutti_nvcc_flags} ${folders}
            -MD -MF ${object}.d -MT ${object} -c ${source} -o ${object}
    DEPENDS ${source}
    DEPFILE ${object}.d
    COMMENT "Compiling ${name} by nvcc"
    VERBATIM)
endfunction()

# Adds the kernels of the trainer on GPUs.
function(tutti_add_nn_cuda include)
  if(TARGET tutti_nn_cuda)
    return()
  endif()
  tutti_find_nn_cuda(missing)
  if(missing)
    message(STATUS "tutti::nn_cuda is not available: it needs ${missing}")
    return()
  endif()
  set(object ${CMAKE_CURRENT_BINARY_DIR}/tutti_nn_cuda.o)
  list(APPEND tutti_nvcc_flags -O3)
  tutti_compile_by_nvcc(${object} ${include}/tutti/nn/cuda/cuda.cu ${include})
  add_library(tutti_nn_cuda STATIC EXCLUDE_FROM_ALL ${object})
  set_target_properties(tutti_nn_cuda PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(tutti_nn_cuda PUBLIC tutti::nn_compiled tutti::cuda CUDA::cublas cuDNN::cuDNN)
  add_library(tutti::nn_cuda ALIAS tutti_nn_cuda)
endfunction()

# tutti_add_compiled(<folder of the headers>): adds a target for each available component.
function(tutti_add_compiled include)
  if(TARGET tutti::tutti)
    tutti_add_library(compiled ${include}/tutti/compiled.cpp tutti::tutti)
  endif()
  if(TARGET tutti::c_headers)
    tutti_add_c(${include})
  endif()
  if(TARGET tutti::nn)
    tutti_add_library(nn_compiled ${include}/tutti/nn/compiled.cpp tutti::nn tutti::compiled)
    # Vectorises loops with square roots, such as Adam's, which need not set errno. Values remain the same.
    target_compile_options(tutti_nn_compiled PRIVATE $<$<CXX_COMPILER_ID:GNU,Clang,AppleClang>:-fno-math-errno>)
    if(TARGET tutti::nn_images)
      tutti_add_library(nn_images_compiled ${include}/tutti/nn/images/compiled.cpp tutti::nn_images tutti::nn_compiled)
    endif()
    if(TARGET tutti::cuda)
      tutti_add_nn_cuda(${include})
    endif()
  endif()
endfunction()
