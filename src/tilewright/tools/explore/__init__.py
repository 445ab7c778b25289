"""The command `tilewright explore`: a page that shows what becomes of the kernels of a program.

recording  the launches of a program, with copies of their arguments
sources    functions in the page, and the lines that stages come from
compiled   one kernel for one target: stages, decisions, checks, resources
grid       which block reads and writes what, by the reference interpreter
page       all of it as one HTML file, of the modules in `page/`
server     that file on this machine, for those who know its address
command    the subcommand
"""
