# Compiler settings: ccache where present, warnings, sanitizers.

if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(TROUPE_CCACHE ccache)
  mark_as_advanced(TROUPE_CCACHE)
  if(TROUPE_CCACHE)
    # Without this sloppiness ccache refuses every file that uses a precompiled header.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        "${CMAKE_COMMAND}" -E env
        CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
        "${TROUPE_CCACHE}"
    )
  endif()
endif()

# Settings that must be the same for every file: those that a precompiled header is checked against.
macro(troupe_compiler_settings)
  set(THREADS_PREFER_PTHREAD_FLAG TRUE)
  # The same for libraries and programs: both are compared when a precompiled header is used.
  add_compile_options(-pthread -fPIC)
  add_library(troupe_compiler INTERFACE)
  target_compile_options(
    troupe_compiler INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                              $<$<BOOL:${TROUPE_WERROR}>:-Werror -Wno-error=invalid-pch>
  )
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # For ccache: keeps the #pragma that names the precompiled header.
    target_compile_options(troupe_compiler INTERFACE -fpch-preprocess)
  elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # For ccache: no time stamp inside the precompiled header.
    target_compile_options(troupe_compiler INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
  if(TROUPE_SANITIZE)
    add_compile_options(-fsanitize=${TROUPE_SANITIZE} -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${TROUPE_SANITIZE})
    if(TROUPE_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # GCC's analysis is confused by the instrumented code, in the standard library too.
      add_compile_options(-Wno-maybe-uninitialized)
    endif()
    if(TROUPE_SANITIZE MATCHES "undefined")
      add_compile_options(-fno-sanitize-recover=undefined)
    endif()
  endif()
endmacro()
