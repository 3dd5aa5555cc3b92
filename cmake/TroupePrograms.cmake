# The programs, in <build>/bin. A program exists as soon as its folder has a main.cpp.

function(troupe_program name folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LINK")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${folder}/*.cpp")
  if(NOT "${CMAKE_SOURCE_DIR}/${folder}/main.cpp" IN_LIST sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE troupe_compiler ${arg_LINK})
  target_compile_definitions(${name} PRIVATE TROUPE_VERSION="${PROJECT_VERSION}")
  if(troupe_all IN_LIST arg_LINK)
    troupe_use_pch(${name} caf)
  endif()
endfunction()

troupe_program(troupe apps/troupe LINK troupe_all)
troupe_program(troupe-keeper apps/troupe-keeper LINK troupe_backends)
troupe_program(troupe-bench bench LINK troupe_all)

if(TROUPE_SANITIZE AND TARGET troupe-keeper)
  file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/reports")
  target_compile_definitions(
    troupe-keeper PRIVATE TROUPE_REPORTS="${CMAKE_BINARY_DIR}/reports/keeper"
  )
endif()

# What scripts/run needs.
add_custom_target(programs)
foreach(program troupe troupe-keeper)
  if(TARGET ${program})
    add_dependencies(programs ${program})
  endif()
endforeach()
