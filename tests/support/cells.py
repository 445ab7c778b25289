"""Runs cells in IPython, in a process of their own, as a notebook does; prints what each shows.

`python cells.py` reads a list of cells as JSON from its input, and writes one object for each:
what the cell shows as text and as HTML, and of an error its name, its text, and the files of its
traceback as IPython prints it.
"""

import json
import re
import sys
import tempfile


def run(cells):
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    shell = InteractiveShell.instance(ipython_dir=tempfile.mkdtemp(), history_load_length=0)
    shell.run_line_magic("colors", "nocolor")
    for cell in cells:
        with capture_output() as printed:
            result = shell.run_cell(cell, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        found = {"text": None, "html": None, "error": None, "printed": printed.stdout}
        if error is not None:
            found["error"] = [type(error).__name__, str(error)]
            found["frames"] = re.findall(r"^(?:File|Cell) .*$", printed.stdout, re.MULTILINE)
        elif result.result is not None:
            shown, _ = shell.display_formatter.format(result.result)
            found["text"], found["html"] = shown.get("text/plain"), shown.get("text/html")
        yield found


if __name__ == "__main__":
    print(json.dumps(list(run(json.load(sys.stdin)))))
