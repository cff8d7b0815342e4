# `cmake --install` and, with CPack, a Debian package: cpack -G DEB --config build/release/CPackConfig.cmake
include(GNUInstallDirs)
set(REMAPLAB_SHARE "${CMAKE_INSTALL_DATADIR}/remaplab")

install(TARGETS remaplab)
install(FILES packaging/remaplab.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(FILES packaging/remaplab.bash DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME remaplab)
install(DIRECTORY backends/profiles/ DESTINATION "${REMAPLAB_SHARE}/profiles" FILES_MATCHING PATTERN "*.json")
install(DIRECTORY analysis/schema/ DESTINATION "${REMAPLAB_SHARE}/sql" FILES_MATCHING PATTERN "*.sql")
install(FILES README.md CHANGELOG.md traces/FORMAT.md TYPE DOC OPTIONAL)
install(DIRECTORY docs/ TYPE DOC FILES_MATCHING PATTERN "*.md")
install(DIRECTORY traces/examples/ DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples")
install(DIRECTORY examples/ DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples" USE_SOURCE_PERMISSIONS)

set(CPACK_GENERATOR DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_CONTACT "remaplab developers <remaplab@localhost>")
set(CPACK_PACKAGE_DESCRIPTION
    "Records what the allocator of an XLA training run did on every step, replays that through a remap engine on a
simulator or on real virtual-memory calls, and keeps every driver-call count and timing in SQLite.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "bash-completion, sqlite3")
include(CPack)
