// Arrays of other libraries on a GPU, which kernels read where they are.
#pragma once

#include "python/py.hpp"

namespace tw::py {

// The region of an array on a GPU, which has what its library does with the array come before what
// is on one of our streams. None: look closer. Null: an error is set.
Owned region_on_gpu(PyObject* array, PyObject* device);

// A launch was started on a stream. If it may read such arrays, those of later launches are made
// ready for that stream, which is likely to be the one that reads them.
void note_reader(PyObject* stream);

// Makes the names of attributes. False: an error is set.
bool prepare_gpu_arrays();

}  // namespace tw::py
