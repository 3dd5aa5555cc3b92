# The CTest entry install_consumer: installs the build into its own tree, then configures, builds
# and runs tests/install/ (that is, examples/embed.cpp) against it, as a stranger's project would.
file(REMOVE_RECURSE "${WORK_DIR}")
set(flags "")
if(SANITIZE)
  set(flags "-fsanitize=${SANITIZE}")
endif()

function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

step("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${WORK_DIR}/prefix")
step(
  "${CMAKE_COMMAND}" -S "${SOURCE_DIR}" -B "${WORK_DIR}/build" -G Ninja
  "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}" "-DCMAKE_CXX_FLAGS=${flags}"
  "-DTroupe_ROOT=${WORK_DIR}/prefix"
)
step("${CMAKE_COMMAND}" --build "${WORK_DIR}/build")

execute_process(
  COMMAND "${WORK_DIR}/build/host" OUTPUT_VARIABLE said COMMAND_ECHO STDOUT
  COMMAND_ERROR_IS_FATAL ANY
)
if(NOT said MATCHES "^hello\n-> exit code 7\nproc_[0-9a-f]+ said 'ready'\n$")
  message(FATAL_ERROR "the host said something else:\n${said}")
endif()
