"""What launches leave behind: blocks of memory, objects and pages, by every kind of it."""
