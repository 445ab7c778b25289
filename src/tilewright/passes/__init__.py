"""IR to IR: each pass is one file with one public function that takes a function and gives one."""
