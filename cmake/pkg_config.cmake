# SPDX-License-Identifier: Apache-2.0
#
# A file for pkg-config for each component: tutti.pc, tutti-<component>.pc; and tutti-compiled.pc, tutti-nn-compiled.pc
# and so on with the flags of programs that compile the cold code once, from the file in the variable `source`. Paths are
# relative to these files, so that an installation may be moved.

set(tutti_pc_dir ${CMAKE_INSTALL_DATADIR}/pkgconfig)
file(RELATIVE_PATH tutti_pc_include ${CMAKE_INSTALL_FULL_DATADIR}/pkgconfig ${CMAKE_INSTALL_FULL_INCLUDEDIR})

# tutti_add_pc(<name> <description> [REQUIRES <packages>] [CFLAGS <flags>] [LIBS <flags>] [SOURCE <file>])
function(tutti_add_pc name description)
  cmake_parse_arguments(PARSE_ARGV 2 pc "" "REQUIRES;CFLAGS;LIBS;SOURCE" "")
  set(lines "includedir=\${pcfiledir}/${tutti_pc_include}\n")
  if(pc_SOURCE)
    string(APPEND lines "source=\${includedir}/${pc_SOURCE}\n")
  endif()
  string(APPEND lines "\nName: ${name}\nDescription: ${description}\nVersion: ${PROJECT_VERSION}\n")
  if(pc_REQUIRES)
    string(APPEND lines "Requires: ${pc_REQUIRES}\n")
  endif()
  string(APPEND lines "Cflags: -I\${includedir}")
  if(pc_CFLAGS)
    string(APPEND lines " ${pc_CFLAGS}")
  endif()
  string(APPEND lines "\n")
  if(pc_LIBS)
    string(APPEND lines "Libs: ${pc_LIBS}\n")
  endif()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/pkgconfig/${name}.pc CONTENT "${lines}" @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/pkgconfig/${name}.pc DESTINATION ${tutti_pc_dir} ${tutti_install})
endfunction()

set(tutti_pc_of_tutti "${PROJECT_DESCRIPTION}" CFLAGS -pthread LIBS -pthread)
set(tutti_pc_of_asio "tutti at an event loop of Boost.Asio, which needs Boost ${tutti_boost}" REQUIRES tutti)
set(tutti_pc_of_c "tutti for programs in C, whose library the file in the variable source makes" SOURCE tutti/c/c.cpp)
set(tutti_pc_of_tcp "tutti over TCP" REQUIRES tutti)
set(tutti_pc_of_secure "tutti whose ranks prove who they are, and encrypt, by OpenSSL" REQUIRES "tutti, openssl")
set(tutti_pc_of_simulation "tutti in virtual time, on networks that are not there" REQUIRES tutti)
set(tutti_pc_of_in_network "tutti with the help of the network: sums in an FPGA NIC, multicast over UDP" REQUIRES tutti)
set(tutti_pc_of_verbs "tutti over RDMA" REQUIRES "tutti, libibverbs")
set(tutti_pc_of_mpi "tutti, meeting over MPI, whose own wrapper of the compiler (mpicxx) is to be used" REQUIRES tutti)
set(tutti_pc_of_cuda "tutti on GPUs, which needs CUDA ${tutti_cuda}; nvcc, or the flags of its folder, are to be used"
    REQUIRES tutti LIBS -lcudart)
set(tutti_pc_of_nn "tutti's trainer, which needs xtensor-blas and oneDNN, too" CFLAGS -DHAVE_CBLAS=1 LIBS -ldnnl
    REQUIRES "tutti, xtensor, openblas, zlib, nlohmann_json")
set(tutti_pc_of_nn_images "the pictures that tutti's trainer reads" REQUIRES "tutti-nn, libpng, libjpeg")
foreach(component IN LISTS tutti_components)
  if(NOT tutti_pc_of_${component})
    message(FATAL_ERROR "tutti::${component} has no file for pkg-config: give it one in cmake/pkg_config.cmake.")
  endif()
  string(REPLACE "_" "-" name tutti-${component})
  string(REGEX REPLACE "^tutti-tutti$" "tutti" name ${name})
  tutti_add_pc(${name} ${tutti_pc_of_${component}})
endforeach()

tutti_add_pc(tutti-compiled "tutti with its cold code compiled apart" REQUIRES tutti
             CFLAGS -DTUTTI_SEPARATE_COMPILATION SOURCE tutti/compiled.cpp)
tutti_add_pc(tutti-nn-compiled "tutti's trainer with its cold code compiled apart" REQUIRES "tutti-nn, tutti-compiled"
             SOURCE tutti/nn/compiled.cpp)
tutti_add_pc(tutti-nn-images-compiled "tutti-nn-images with its cold code compiled apart"
             REQUIRES "tutti-nn-images, tutti-nn-compiled" SOURCE tutti/nn/images/compiled.cpp)
tutti_add_pc(tutti-nn-cuda "tutti's trainer on GPUs, which needs cuDNN ${tutti_cudnn}; nvcc compiles its source"
             REQUIRES "tutti-nn-compiled, tutti-cuda" LIBS "-lcublas -lcudnn" SOURCE tutti/nn/cuda/cuda.cu)
