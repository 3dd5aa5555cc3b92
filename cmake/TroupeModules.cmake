# One static library per module folder. The table of docs/architecture.md, as link arrows: a module
# sees the headers of third parties only through what it names here, so CAF cannot be included in
# text/, backends/ or persistence/. (Arrows between our own headers: scripts/lib/check_includes.)

# troupe_module(<name> [PCH caf|asio] [LINK <libraries>]): the library troupe_<name>, also called
# troupe::<name>. A folder without sources yet gives an INTERFACE library.
function(troupe_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PCH" "LINK")
  set(target troupe_${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${name}/*.cpp")
  if(sources)
    set(scope PUBLIC)
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:troupe_compiler>)
    if(arg_PCH)
      troupe_use_pch(${target} ${arg_PCH})
    endif()
  else()
    set(scope INTERFACE)
    add_library(${target} INTERFACE)
  endif()
  add_library(troupe::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} ${scope} cxx_std_20)
  target_include_directories(
    ${target} ${scope} "$<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/include>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
  )
  target_link_libraries(${target} ${scope} ${arg_LINK})
endfunction()

# A precompiled header that several targets share. It sees only the libraries named with it.
function(troupe_add_pch name)
  if(NOT TROUPE_PCH)
    return()
  endif()
  set(source "${CMAKE_BINARY_DIR}/pch/${name}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "// Only here to carry a precompiled header.\n")
  add_library(troupe_pch_${name} OBJECT EXCLUDE_FROM_ALL "${source}")
  target_link_libraries(troupe_pch_${name} PRIVATE troupe_compiler ${ARGN})
  target_precompile_headers(troupe_pch_${name} PRIVATE "${CMAKE_SOURCE_DIR}/cmake/pch_${name}.hpp")
endfunction()

function(troupe_use_pch target name)
  if(TARGET troupe_pch_${name})
    target_precompile_headers(${target} REUSE_FROM troupe_pch_${name})
  endif()
endfunction()

# Boost.Process v2 and Asio are used header-only, with std::filesystem.
add_library(troupe_asio INTERFACE)
set_target_properties(troupe_asio PROPERTIES EXPORT_NAME asio)
target_link_libraries(troupe_asio INTERFACE Boost::headers Threads::Threads)
target_compile_definitions(troupe_asio INTERFACE BOOST_PROCESS_USE_STD_FS=1)

troupe_add_pch(caf CAF::core)
troupe_add_pch(asio troupe_asio)

troupe_module(text LINK PkgConfig::RE2 PkgConfig::VTERM)
troupe_module(config PCH caf LINK CAF::core)
troupe_module(messages PCH caf LINK CAF::core)
troupe_module(backends PCH asio LINK troupe_text troupe_asio)
troupe_module(persistence LINK troupe_text simdjson::simdjson Boost::json)
troupe_module(
  actors PCH caf LINK troupe_messages troupe_backends troupe_persistence troupe_text troupe_config
                      CAF::core
)
troupe_module(
  frontends
  PCH caf
  LINK troupe_messages troupe_config troupe_text troupe_asio
       simdjson::simdjson Boost::json spdlog::spdlog CLI11::CLI11
       CAF::core CAF::io CAF::openssl
)
set(troupe_modules text config messages backends persistence actors frontends)

# What a host links.
add_library(troupe_all INTERFACE)
add_library(troupe::troupe ALIAS troupe_all)
set_target_properties(troupe_all PROPERTIES EXPORT_NAME troupe)
target_link_libraries(
  troupe_all INTERFACE troupe_frontends troupe_actors troupe_persistence troupe_backends
                       troupe_messages troupe_config troupe_text
)
