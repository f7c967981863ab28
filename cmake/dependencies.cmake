# SPDX-License-Identifier: Apache-2.0
#
# What each component of tutti needs from outside. Used by the build and, installed, by the package
# configuration, so the two cannot disagree.

# The least version of Boost: Asio under C++20 needs care before it.
set(tutti_boost 1.81)

# Every component; the others build on the first.
set(tutti_components tutti asio tcp nn)

# oneDNN's own configuration asks for OpenCL's headers, which computing on processors does not need.
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

# Looks for what `component` itself needs. Sets `result` to what is missing, or to nothing.
function(tutti_find_dependencies component result)
  set(missing "")
  if("${component}" STREQUAL "tutti")
    set(THREADS_PREFER_PTHREAD_FLAG ON)
    find_package(Threads QUIET)
    if(NOT Threads_FOUND)
      set(missing "a threads library")
    endif()
  elseif("${component}" STREQUAL "asio")
    find_package(Boost ${tutti_boost} QUIET CONFIG)
    if(NOT Boost_FOUND)
      set(missing "Boost ${tutti_boost} or newer (Debian: libboost1.81-dev)")
    endif()
  elseif("${component}" STREQUAL "nn")
    if(NOT DEFINED BLA_VENDOR)
      set(BLA_VENDOR OpenBLAS)
    endif()
    find_package(BLAS QUIET)
    if(NOT BLAS_FOUND)
      set(missing "OpenBLAS, or another BLAS named by BLA_VENDOR (Debian: libopenblas-dev)")
    else()
      find_package(xtensor QUIET CONFIG)
      find_package(xtensor-blas QUIET CONFIG)
      find_package(ZLIB QUIET)
      find_package(nlohmann_json QUIET CONFIG)
      tutti_find_onednn()
      if(NOT xtensor_FOUND)
        set(missing "xtensor (Debian: libxtensor-dev)")
      elseif(NOT xtensor-blas_FOUND)
        set(missing "xtensor-blas (Debian: libxtensor-blas-dev)")
      elseif(NOT ZLIB_FOUND)
        set(missing "zlib (Debian: zlib1g-dev)")
      elseif(NOT nlohmann_json_FOUND)
        set(missing "nlohmann-json (Debian: nlohmann-json3-dev)")
      elseif(NOT TARGET oneDNN::oneDNN)
        set(missing "oneDNN (Debian: libdnnl-dev)")
      endif()
    endif()
  endif()
  set(${result} "${missing}" PARENT_SCOPE)
endfunction()
