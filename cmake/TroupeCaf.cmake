# The C++ Actor Framework, core, io and openssl: CAF_ROOT or an installed one, else the copy that
# scripts/setup keeps in the user's cache, else (-DTROUPE_FETCH_CAF=ON) fetched and built here.
# Provides the targets CAF::core, CAF::io and CAF::openssl.

if(TROUPE_FETCH_CAF)
  include(FetchContent)
  set(CAF_ENABLE_EXAMPLES OFF)
  set(CAF_ENABLE_TOOLS OFF)
  set(CAF_ENABLE_TESTING OFF)
  set(CAF_ENABLE_NET_MODULE OFF)
  set(CAF_ENABLE_IO_MODULE ON)
  set(CAF_ENABLE_OPENSSL_MODULE ON)
  set(troupe_shared_libs "${BUILD_SHARED_LIBS}")
  set(BUILD_SHARED_LIBS OFF)
  FetchContent_Declare(
    actor_framework SYSTEM
    GIT_REPOSITORY https://github.com/actor-framework/actor-framework.git
    GIT_TAG 97e03500422f0ac48e35fee510d570e16b43a65e # 1.1.0
  )
  FetchContent_MakeAvailable(actor_framework)
  set(BUILD_SHARED_LIBS "${troupe_shared_libs}")
  foreach(component core io openssl)
    if(TARGET libcaf_${component} AND NOT TARGET CAF::${component})
      add_library(CAF::${component} ALIAS libcaf_${component})
    endif()
  endforeach()
  return()
endif()

if(NOT CAF_ROOT AND NOT CAF_DIR AND NOT DEFINED ENV{CAF_ROOT})
  set(troupe_caf_variant release)
  if(TROUPE_SANITIZE MATCHES "thread")
    set(troupe_caf_variant tsan)
  endif()
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env "CXX=${CMAKE_CXX_COMPILER}" bash
            "${CMAKE_SOURCE_DIR}/scripts/lib/caf.sh" prefix ${troupe_caf_variant}
    OUTPUT_VARIABLE troupe_caf_root
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
  )
  if(troupe_caf_root)
    set(CAF_ROOT "${troupe_caf_root}")
  endif()
endif()

# CAF's OpenSSL module names these targets without looking for them.
find_package(OpenSSL REQUIRED)
find_package(Threads REQUIRED)
find_package(CAF QUIET COMPONENTS core io openssl)
if(NOT CAF_FOUND)
  message(
    FATAL_ERROR
      "Found no C++ Actor Framework (CAF). Run scripts/setup, which builds one in your cache "
      "directory, or set CAF_ROOT to an installed one (0.18.7 to 1.1), or configure with "
      "-DTROUPE_FETCH_CAF=ON."
  )
endif()
if(CAF_VERSION VERSION_LESS 0.18.7 OR CAF_VERSION VERSION_GREATER_EQUAL 1.2)
  message(
    FATAL_ERROR
      "The C++ Actor Framework in ${CAF_DIR} is version ${CAF_VERSION}; Troupe needs 0.18.7 to 1.1. "
      "Set CAF_ROOT to another one, or configure with -DTROUPE_FETCH_CAF=ON."
  )
endif()
foreach(component core io openssl)
  if(NOT TARGET CAF::${component})
    message(FATAL_ERROR "The C++ Actor Framework in ${CAF_DIR} was built without its ${component} module.")
  endif()
endforeach()
message(STATUS "C++ Actor Framework ${CAF_VERSION}: ${CAF_DIR}")
