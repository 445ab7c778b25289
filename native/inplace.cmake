# Puts a module where a checkout finds it: cmake -D FROM=.. -D TO=.. -P inplace.cmake
#
# By a rename, so that programs which have loaded the old one keep it, and none finds half a file.
if(EXISTS ${TO})
  file(SHA256 ${FROM} new)
  file(SHA256 ${TO} old)
  if(new STREQUAL old)
    return()
  endif()
endif()
string(RANDOM LENGTH 8 suffix)
file(COPY_FILE ${FROM} ${TO}.${suffix})
file(RENAME ${TO}.${suffix} ${TO})
cmake_path(NORMAL_PATH TO)
message("built ${TO}")
