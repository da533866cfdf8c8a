# `cmake --install` and find_package(tidemark); tests/install builds a consumer of it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(TARGETS tidemark tidemark_settings EXPORT tidemark-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY tidemark DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
# For people to start from; the library has them in it.
install(DIRECTORY profiles DESTINATION ${CMAKE_INSTALL_DATADIR}/tidemark FILES_MATCHING PATTERN "*.json")
if(TARGET tidemark_program)
  # Libraries that the system does not look for (oneDNN, HiGHS) are found where they were when it was built.
  set(rpath "")
  foreach(library IN LISTS DNNL_LIBRARY HIGHS_LIBRARY)
    if(EXISTS "${library}")
      cmake_path(GET library PARENT_PATH folder)
      list(APPEND rpath "${folder}")
    endif()
  endforeach()
  set_target_properties(tidemark_program PROPERTIES INSTALL_RPATH "${rpath}")
  install(TARGETS tidemark_program DESTINATION ${CMAKE_INSTALL_BINDIR})
  # Made when the program is built; a build of the library alone has none.
  install(FILES ${CMAKE_BINARY_DIR}/share/tidemark.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)
  install(FILES ${CMAKE_BINARY_DIR}/share/tidemark.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME tidemark OPTIONAL)
  install(FILES ${CMAKE_BINARY_DIR}/share/_tidemark DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions OPTIONAL)
  install(FILES ${CMAKE_BINARY_DIR}/share/tidemark.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d OPTIONAL)
endif()
install(EXPORT tidemark-targets NAMESPACE tidemark:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tidemark)
configure_package_config_file(cmake/tidemark-config.cmake.in ${CMAKE_BINARY_DIR}/tidemark-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tidemark)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tidemark-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/tidemark-config.cmake ${CMAKE_BINARY_DIR}/tidemark-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tidemark)
