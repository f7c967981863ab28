# SPDX-License-Identifier: Apache-2.0
#
# The external dependencies of each component of tutti. Used by the build and, installed, by the package configuration,
# so the two cannot disagree.

# The minimum version of Boost: older versions of Asio have problems with C++20.
set(tutti_boost 1.81)

# Every component; the others build on the first, the core.
set(tutti_components tutti c asio tcp secure simulation verbs in_network mpi cuda nn nn_images)

# The minimum version of OpenSSL: older ones have no maintainers.
set(tutti_openssl 3.0)

# The minimum version of CUDA: older ones are untested, and Debian 12's lacks C++20.
set(tutti_cuda 13.0)
# The minimum version of cuDNN: the first for CUDA 13.
set(tutti_cudnn 9)

# Texts about missing libraries.
set(tutti_need_threads "a threads library (part of the C library's development package)")
set(tutti_need_boost "Boost ${tutti_boost} or newer (Debian: libboost1.81-dev, Fedora: boost-devel, Arch: boost, \
macOS, Homebrew: boost)")
set(tutti_need_openssl "OpenSSL ${tutti_openssl} or newer (Debian: libssl-dev, Fedora: openssl-devel, Arch: openssl, \
macOS, Homebrew: openssl)")
set(tutti_need_ibverbs "rdma-core (Debian: libibverbs-dev, Fedora: rdma-core-devel, Arch: rdma-core, macOS: has none)")
set(tutti_need_mpi "an MPI of version 3 (Debian: libopenmpi-dev, Fedora: openmpi-devel, Arch: openmpi, \
macOS, Homebrew: open-mpi)")
set(tutti_need_cuda "CUDA ${tutti_cuda} or newer (from NVIDIA; the nvidia-cuda-toolkit of Debian 12 is older, macOS: \
has none), and nvcc on the PATH or CUDAToolkit_ROOT=<its folder>")
set(tutti_need_cudnn "cuDNN ${tutti_cudnn} or newer beside CUDA (from NVIDIA), or cuDNN_ROOT=<its folder>")
set(tutti_need_blas "OpenBLAS, or another BLAS named by BLA_VENDOR (Debian: libopenblas-dev, Fedora: openblas-devel, \
Arch: openblas, macOS, Homebrew: openblas)")
set(tutti_need_xtensor "xtensor (Debian: libxtensor-dev, Fedora: xtensor-devel, Arch: xtensor, \
macOS, Homebrew: xtensor)")
set(tutti_need_xtensor_blas "xtensor-blas (Debian: libxtensor-blas-dev, Fedora, Arch, macOS: xtensor-blas \
of conda-forge)")
set(tutti_need_zlib "zlib (Debian: zlib1g-dev, Fedora: zlib-devel, Arch: zlib, macOS, Homebrew: zlib)")
set(tutti_need_json "nlohmann-json (Debian: nlohmann-json3-dev, Fedora: json-devel, Arch: nlohmann-json, \
macOS, Homebrew: nlohmann-json)")
set(tutti_need_png "libpng (Debian: libpng-dev, Fedora: libpng-devel, Arch: libpng, macOS, Homebrew: libpng)")
set(tutti_need_jpeg "libjpeg-turbo (Debian: libjpeg-dev, Fedora: libjpeg-turbo-devel, \
Arch: libjpeg-turbo, macOS, Homebrew: jpeg-turbo)")
set(tutti_need_onednn "oneDNN (Debian: libdnnl-dev, Fedora: onednn-devel, Arch: onednn, macOS, Homebrew: onednn)")

# Finds oneDNN without its own configuration, which requires OpenCL's headers; computing on CPUs does not need them.
function(tutti_find_onednn)
  find_path(oneDNN_INCLUDE_DIR dnnl.hpp)
  find_library(oneDNN_LIBRARY dnnl)
  mark_as_advanced(oneDNN_INCLUDE_DIR oneDNN_LIBRARY)
  if(oneDNN_INCLUDE_DIR AND oneDNN_LIBRARY AND NOT TARGET oneDNN::oneDNN)
    add_library(oneDNN::oneDNN UNKNOWN IMPORTED)
    set_target_properties(oneDNN::oneDNN PROPERTIES IMPORTED_LOCATION "${oneDNN_LIBRARY}"
                                                    INTERFACE_INCLUDE_DIRECTORIES "${oneDNN_INCLUDE_DIR}")
  endif()
endfunction()

# Finds libibverbs by the configuration of Conan's package, otherwise on the system.
function(tutti_find_ibverbs)
  find_package(rdma-core QUIET CONFIG)
  if(TARGET rdma-core::libibverbs AND NOT TARGET ibverbs::ibverbs)
    add_library(ibverbs::ibverbs INTERFACE IMPORTED)
    target_link_libraries(ibverbs::ibverbs INTERFACE rdma-core::libibverbs)
  endif()
  if(TARGET ibverbs::ibverbs)
    return()
  endif()
  find_path(ibverbs_INCLUDE_DIR infiniband/verbs.h)
  find_library(ibverbs_LIBRARY ibverbs)
  mark_as_advanced(ibverbs_INCLUDE_DIR ibverbs_LIBRARY)
  if(ibverbs_INCLUDE_DIR AND ibverbs_LIBRARY)
    add_library(ibverbs::ibverbs UNKNOWN IMPORTED)
    set_target_properties(ibverbs::ibverbs PROPERTIES IMPORTED_LOCATION "${ibverbs_LIBRARY}"
                                                      INTERFACE_INCLUDE_DIRECTORIES "${ibverbs_INCLUDE_DIR}")
  endif()
endfunction()

# Finds the requirements of tutti::nn_cuda beyond tutti::nn and tutti::cuda. cuDNN has no configuration for CMake.
function(tutti_find_nn_cuda result)
  set(missing "")
  find_package(CUDAToolkit ${tutti_cuda} QUIET)
  find_path(cuDNN_INCLUDE_DIR cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(cuDNN_LIBRARY cudnn HINTS ${CUDAToolkit_LIBRARY_DIR})
  mark_as_advanced(cuDNN_INCLUDE_DIR cuDNN_LIBRARY)
  set(major 0)
  if(cuDNN_INCLUDE_DIR)
    file(STRINGS ${cuDNN_INCLUDE_DIR}/cudnn_version.h lines REGEX "^#define CUDNN_MAJOR [0-9]+")
    string(REGEX REPLACE "[^0-9]*([0-9]+).*" "\\1" major "${lines}")
  endif()
  if(NOT TARGET CUDA::cublas)
    set(missing "cuBLAS (a part of CUDA from NVIDIA)")
  elseif(NOT CUDAToolkit_NVCC_EXECUTABLE)
    set(missing "nvcc (a part of CUDA from NVIDIA)")
  elseif(NOT cuDNN_LIBRARY OR major LESS tutti_cudnn)
    set(missing "${tutti_need_cudnn}")
  elseif(NOT TARGET cuDNN::cuDNN)
    add_library(cuDNN::cuDNN UNKNOWN IMPORTED)
    set_target_properties(cuDNN::cuDNN PROPERTIES IMPORTED_LOCATION "${cuDNN_LIBRARY}"
                                                  INTERFACE_INCLUDE_DIRECTORIES "${cuDNN_INCLUDE_DIR}")
  endif()
  set(${result} "${missing}" PARENT_SCOPE)
endfunction()

# Finds OpenBLAS, unless BLA_VENDOR names another library; uses the target of its configuration if there is one.
function(tutti_find_blas)
  if(NOT DEFINED BLA_VENDOR)
    set(BLA_VENDOR OpenBLAS)
  endif()
  if(BLA_VENDOR STREQUAL "OpenBLAS" AND NOT CMAKE_DISABLE_FIND_PACKAGE_BLAS)
    find_package(OpenBLAS QUIET CONFIG)
  endif()
  if(TARGET OpenBLAS::OpenBLAS AND NOT TARGET BLAS::BLAS)
    add_library(BLAS::BLAS INTERFACE IMPORTED)
    target_link_libraries(BLAS::BLAS INTERFACE OpenBLAS::OpenBLAS)
  elseif(NOT TARGET BLAS::BLAS)
    find_package(BLAS QUIET)
  endif()
endfunction()

# Finds the requirements of tutti::nn.
function(tutti_find_nn result)
  set(missing "")
  tutti_find_blas()
  if(NOT TARGET BLAS::BLAS)
    set(missing "${tutti_need_blas}")
  else()
    find_package(xtensor QUIET CONFIG)
    find_package(xtensor-blas QUIET CONFIG)
    find_package(ZLIB QUIET)
    find_package(nlohmann_json QUIET CONFIG)
    tutti_find_onednn()
    if(NOT xtensor_FOUND)
      set(missing "${tutti_need_xtensor}")
    elseif(NOT xtensor-blas_FOUND)
      set(missing "${tutti_need_xtensor_blas}")
    elseif(NOT ZLIB_FOUND)
      set(missing "${tutti_need_zlib}")
    elseif(NOT nlohmann_json_FOUND)
      set(missing "${tutti_need_json}")
    elseif(NOT TARGET oneDNN::oneDNN)
      set(missing "${tutti_need_onednn}")
    endif()
  endif()
  set(${result} "${missing}" PARENT_SCOPE)
endfunction()

# Finds the requirements of tutti::nn_images, which include those of tutti::nn.
function(tutti_find_nn_images result)
  tutti_find_nn(missing)
  if(NOT missing)
    find_package(PNG QUIET)
    find_package(JPEG QUIET)
    if(NOT TARGET PNG::PNG)
      set(missing "${tutti_need_png}")
    elseif(NOT TARGET JPEG::JPEG)
      set(missing "${tutti_need_jpeg}")
    endif()
  endif()
  set(${result} "${missing}" PARENT_SCOPE)
endfunction()

# Finds the requirements of `component` itself. Sets `result` to the reason why it is unavailable, or to nothing.
function(tutti_find_dependencies component result)
  set(missing "")
  if(NOT component IN_LIST tutti_components)
    list(JOIN tutti_components ", " known)
    set(${result} "there is no such component; there are ${known}" PARENT_SCOPE)
    return()
  endif()
  if(component STREQUAL "tutti")
    set(THREADS_PREFER_PTHREAD_FLAG ON)
    find_package(Threads QUIET)
    if(NOT Threads_FOUND)
      set(missing "${tutti_need_threads}")
    endif()
  elseif(component STREQUAL "asio")
    find_package(Boost ${tutti_boost} QUIET CONFIG)
    if(NOT Boost_FOUND)
      set(missing "${tutti_need_boost}")
    endif()
  elseif(component STREQUAL "secure")
    find_package(OpenSSL ${tutti_openssl} QUIET COMPONENTS SSL)
    if(NOT OpenSSL_FOUND)
      set(missing "${tutti_need_openssl}")
    endif()
  elseif(component STREQUAL "verbs")
    tutti_find_ibverbs()
    if(NOT TARGET ibverbs::ibverbs)
      set(missing "${tutti_need_ibverbs}")
    endif()
  elseif(component STREQUAL "mpi")
    set(MPI_CXX_SKIP_MPICXX ON)  # the interface for C++ that MPI itself gave up
    find_package(MPI QUIET COMPONENTS CXX)
    if(NOT MPI_CXX_FOUND OR MPI_CXX_VERSION VERSION_LESS 3)
      set(missing "${tutti_need_mpi}")
    endif()
  elseif(component STREQUAL "cuda")
    find_package(CUDAToolkit ${tutti_cuda} QUIET)
    if(NOT TARGET CUDA::cudart)
      set(missing "${tutti_need_cuda}")
    endif()
  elseif(component STREQUAL "nn")
    tutti_find_nn(missing)
  elseif(component STREQUAL "nn_images")
    tutti_find_nn_images(missing)
  endif()
  if(missing)
    set(missing "it needs ${missing}")
  endif()
  set(${result} "${missing}" PARENT_SCOPE)
endfunction()
