# SPDX-License-Identifier: Apache-2.0
#
# Every header compiles alone, and when included twice. All headers compile in one translation unit, so no two give one
# name to two things. The symbols that it defines may be in any other unit, too. Two units that use the library link
# into one program.

set(odr_headers "")
foreach(component IN LISTS tutti_components)
  if(component IN_LIST tutti_available)
    list(APPEND odr_headers ${tutti_headers_${component}})
  else()
    # Headers that need no library: the code by which thread groups of a device run a schedule.
    set(anywhere ${tutti_headers_${component}})
    list(FILTER anywhere INCLUDE REGEX "^tutti/cuda/detail/device/")
    list(APPEND odr_headers ${anywhere})
    message(STATUS "The headers of tutti::${component} are not tested: it is not available (see above).")
  endif()
endforeach()
list(FILTER odr_headers EXCLUDE REGEX "[.](cpp|cu|ipp|map)$")  # its header includes what is defined apart
# Compiled by nvcc only: device_ptx, and nn_cuda_ptx.
list(FILTER odr_headers EXCLUDE REGEX "^tutti/(cuda/detail/runtime/(block|driver)|cuda/peers)[.]hpp$")
list(FILTER odr_headers EXCLUDE REGEX "^tutti/nn/cuda/detail/runtime/(launch|[a-z]+_kernels)[.]hpp$")
if(NOT TARGET tutti::nn_cuda)
  list(FILTER odr_headers EXCLUDE REGEX "^tutti/nn/cuda/((any_)?replica[.]hpp$|detail/runtime/)")
endif()

if(NOT tutti_headers_cuda)  # the GPU part of the trainer needs that component
  list(FILTER odr_headers EXCLUDE REGEX "^tutti/nn/cuda/")
endif()

# Each header is compiled where nothing precedes it but headers that it includes itself. One unit does this for several
# headers; units are chosen again on each configuration.
execute_process(COMMAND awk -f ${CMAKE_CURRENT_SOURCE_DIR}/project/odr/units.awk ${odr_headers}
                WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/include
                OUTPUT_VARIABLE units OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" units "${units}")
set(odr_sources "")
foreach(unit IN LISTS units)
  separate_arguments(unit UNIX_COMMAND "${unit}")
  list(GET unit -1 name)  # it includes the others
  string(MAKE_C_IDENTIFIER ${name} name)
  list(TRANSFORM unit REPLACE "(.+)" "#include <\\1>\n" OUTPUT_VARIABLE lines)
  string(JOIN "" lines ${lines})
  set(source ${CMAKE_CURRENT_BINARY_DIR}/headers/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "@lines@@lines@" @ONLY)
  list(APPEND odr_sources ${source})
endforeach()

list(TRANSFORM odr_headers REPLACE "(.+)" "#include <\\1>\n" OUTPUT_VARIABLE odr_all)
string(JOIN "" odr_all ${odr_all})
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/headers/all.cpp CONTENT "@odr_all@" @ONLY)

add_library(headers OBJECT EXCLUDE_FROM_ALL ${odr_sources})  # read, below
# All headers also compile in the debug mode of libstdc++. Units in that mode do not link with others.
add_library(debug_mode_headers OBJECT ${CMAKE_CURRENT_BINARY_DIR}/headers/all.cpp)
target_compile_definitions(debug_mode_headers PRIVATE _GLIBCXX_DEBUG)
foreach(part IN ITEMS headers debug_mode_headers)
  target_link_libraries(${part} PRIVATE tutti_program)
  target_compile_options(${part} PRIVATE -O0 -g0)  # nothing of it runs
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # warnings that projects add and that see headers without -isystem
    target_compile_options(${part} PRIVATE -Wuseless-cast -Wlogical-op -Wduplicated-cond -Wduplicated-branches
                           -Wold-style-cast -Wnon-virtual-dtor -Wdouble-promotion -Wmissing-declarations)
  endif()
  foreach(component IN ITEMS nn nn_images mpi cuda secure)
    if(TARGET tutti::${component})
      target_link_libraries(${part} PRIVATE tutti::${component})
    endif()
  endforeach()
endforeach()
tutti_check_with_first_compiler(headers "")

if(EXISTS ${PROJECT_SOURCE_DIR}/include/tutti/tutti.hpp)
  add_executable(odr ${CMAKE_CURRENT_SOURCE_DIR}/project/odr/first.cpp
                     ${CMAKE_CURRENT_SOURCE_DIR}/project/odr/second.cpp)
  set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/project/odr/first.cpp PROPERTIES COMPILE_OPTIONS -UNDEBUG)
  set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/project/odr/second.cpp
                              PROPERTIES COMPILE_OPTIONS "-DNDEBUG;-fno-rtti")
  target_link_libraries(odr PRIVATE tutti_program)
  foreach(component IN ITEMS nn nn_images mpi cuda secure)
    if(TARGET tutti::${component})
      target_link_libraries(odr PRIVATE tutti::${component})
    endif()
  endforeach()
  tutti_check_with_second_compiler(odr)
  add_test(NAME odr COMMAND odr)
  set_tests_properties(odr PROPERTIES TIMEOUT ${timeout} LABELS sources)
  tutti_test_needs(odr odr first_compiler_headers)
endif()
# The strong symbols are markers, which are the same in all units that link.
add_test(NAME odr_no_strong_symbols
         COMMAND sh -c "nm -gC --defined-only '$<TARGET_OBJECTS:debug_mode_headers>' > defined_by_headers && \
[ -s defined_by_headers ] && ! grep -E ' [ABCDGRST] ' defined_by_headers | grep -v units_disagree_on_")
set_tests_properties(odr_no_strong_symbols PROPERTIES TIMEOUT 60 LABELS sources)
tutti_test_needs(odr_no_strong_symbols debug_mode_headers)

# Links the same program with the cold code compiled apart, and checks that units that disagree on that do not link.
add_executable(odr_apart ${CMAKE_CURRENT_SOURCE_DIR}/project/odr/first.cpp
                         ${CMAKE_CURRENT_SOURCE_DIR}/project/odr/second.cpp)
target_link_libraries(odr_apart PRIVATE tutti_program tutti::compiled)
add_test(NAME odr_apart COMMAND odr_apart)
set_tests_properties(odr_apart PROPERTIES TIMEOUT ${timeout} LABELS packaging)
tutti_test_needs(odr_apart odr_apart)

separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} -std=c++20 -O0")
foreach(name IN ITEMS units_disagree two_versions)
  tutti_takes_turn(odr_${name} takes_turn)
  if(takes_turn)
    add_test(NAME odr_${name} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/project/odr/${name}.sh
                                      $<TARGET_FILE:tutti_compiled> ${PROJECT_SOURCE_DIR}/include
                                      ${CMAKE_CXX_COMPILER} ${flags})
    set_tests_properties(odr_${name} PROPERTIES TIMEOUT ${timeout} LABELS packaging)
    tutti_test_needs(odr_${name} tutti_compiled)
  endif()
endforeach()
add_test(NAME odr_version_in_names COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/project/odr/version_in_names.sh
                                           ${PROJECT_SOURCE_DIR}/include)
set_tests_properties(odr_version_in_names PROPERTIES TIMEOUT 60 LABELS packaging)
tutti_test_needs(odr_version_in_names)
add_test(NAME compiled_holds_all COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/project/odr/compiled_holds_all.sh
                                         ${PROJECT_SOURCE_DIR}/include)
set_tests_properties(compiled_holds_all PROPERTIES TIMEOUT 60 LABELS packaging)
tutti_test_needs(compiled_holds_all)
