# `cmake --install`: headers under include/troupe, the libraries, the programs, and the package
# that gives other projects troupe::troupe.
include(CMakePackageConfigHelpers)

set(troupe_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Troupe")

foreach(module IN LISTS troupe_modules)
  install(TARGETS troupe_${module} EXPORT TroupeTargets)
  if(IS_DIRECTORY "${CMAKE_SOURCE_DIR}/${module}")
    install(
      DIRECTORY "${module}"
      DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/troupe"
      FILES_MATCHING
      PATTERN "*.hpp"
    )
  endif()
endforeach()
install(TARGETS troupe_all troupe_asio EXPORT TroupeTargets)
foreach(program troupe troupe-keeper)
  if(TARGET ${program})
    install(TARGETS ${program})
  endif()
endforeach()

install(
  EXPORT TroupeTargets
  NAMESPACE troupe::
  DESTINATION "${troupe_package_dir}"
)
configure_package_config_file(
  cmake/TroupeConfig.cmake.in "${CMAKE_BINARY_DIR}/cmake/TroupeConfig.cmake"
  INSTALL_DESTINATION "${troupe_package_dir}"
)
write_basic_package_version_file(
  "${CMAKE_BINARY_DIR}/cmake/TroupeConfigVersion.cmake" COMPATIBILITY SameMinorVersion
)
install(
  FILES "${CMAKE_BINARY_DIR}/cmake/TroupeConfig.cmake"
        "${CMAKE_BINARY_DIR}/cmake/TroupeConfigVersion.cmake" cmake/TroupeDependencies.cmake
  DESTINATION "${troupe_package_dir}"
)
