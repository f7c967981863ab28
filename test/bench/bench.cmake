# SPDX-License-Identifier: Apache-2.0
#
# Tests of the Python programs of bench/. They need the standard library only, but for the studies, whose page needs the
# module markdown. Tests that need root or PyTorch are skipped without it, and say so.
find_package(Python3 QUIET COMPONENTS Interpreter)
if(Python3_FOUND)
  # An interpreter of the user may lack modules that the system's has as packages.
  set(studies_python "")
  foreach(python ${Python3_EXECUTABLE} /usr/bin/python3)
    execute_process(COMMAND ${python} -c "import markdown" RESULT_VARIABLE lacks_markdown OUTPUT_QUIET ERROR_QUIET)
    if(NOT studies_python AND lacks_markdown EQUAL 0)
      set(studies_python ${python})
    endif()
  endforeach()
  if(NOT studies_python)
    message(WARNING "Tests of the report of bench/studies are left out: Python's module markdown is missing "
                    "(Debian: python3-markdown).")
  endif()
  foreach(name comparison in_network network network_smoke strategies studies training training_torch)
    set(python ${Python3_EXECUTABLE})
    if(name STREQUAL studies AND studies_python)
      set(python ${studies_python})
    endif()
    add_test(NAME bench_${name} COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/bench/${name}.py)
    set_tests_properties(bench_${name} PROPERTIES TIMEOUT 60 LABELS bench)
    tutti_test_needs(bench_${name})
  endforeach()
  # The programs that these ask are built without the other ones of bench/, and not to be slowed down by a sanitizer.
  if(TARGET tutti::nn AND TARGET tutti::simulation AND NOT TUTTI_SANITIZE)
    foreach(source nn/averaging nn/branches nn/consistency nn/strategies simulation/simulate)
      if(NOT TUTTI_BUILD_BENCHMARKS)
        get_filename_component(program ${source} NAME)
        add_executable(${program} ${PROJECT_SOURCE_DIR}/bench/${source}.cpp)
        target_link_libraries(${program} PRIVATE tutti_program tutti::nn_compiled)
        set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
      endif()
    endforeach()
    add_test(NAME bench_simulators COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/bench/simulators.py
                                           $<TARGET_FILE:simulate> $<TARGET_FILE:strategies> $<TARGET_FILE:averaging>
                                           $<TARGET_FILE:consistency>)
    set_tests_properties(bench_simulators PROPERTIES TIMEOUT 60 LABELS bench)
    tutti_test_needs(bench_simulators simulate strategies averaging consistency)
    # Some studies train, by programs of examples/ and tools/. These are added later, under these conditions.
    find_package(CLI11 QUIET CONFIG)
    tutti_takes_turn(bench_studies_all takes_turn)
    if(takes_turn AND studies_python AND TUTTI_BUILD_EXAMPLES AND TUTTI_BUILD_TOOLS AND TARGET tutti::tcp AND CLI11_FOUND)
      add_test(NAME bench_studies_all COMMAND ${studies_python} ${PROJECT_SOURCE_DIR}/bench/studies/run all --quick
                                              --programs $<TARGET_FILE_DIR:simulate> --train $<TARGET_FILE:train>
                                              --output ${CMAKE_CURRENT_BINARY_DIR}/studies)
      set_tests_properties(bench_studies_all PROPERTIES TIMEOUT 600 COST 130 LABELS bench PROCESSORS 2
                                                        ENVIRONMENT OPENBLAS_NUM_THREADS=1)
      tutti_test_needs(bench_studies_all averaging branches consistency model_parallel simulate soft_switch strategies
                                         train)
    endif()
  endif()
  set_tests_properties(bench_network_smoke bench_training_torch PROPERTIES SKIP_REGULAR_EXPRESSION "OK \\(skipped=")
else()
  message(WARNING "The tests of bench/ in Python, the studies among them, are left out: they need Python 3 "
                  "(Debian: python3).")
endif()

# Texts and the rates that both readers of rates, in C++ and in Python, must return for them.
if(TARGET bench_settings)
  target_compile_definitions(bench_settings PRIVATE TUTTI_RATES="${CMAKE_CURRENT_SOURCE_DIR}/bench/rates.txt")
endif()
